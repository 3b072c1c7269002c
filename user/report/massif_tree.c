/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/massif_tree.h"

#include "base/saturate.h"

#include <inttypes.h>

/* Numbers of labels beyond all that there can be: what stands for other things than frames. */
#define LABEL_ROOT UINT32_MAX
#define LABEL_ENDED (UINT32_MAX - 1)  /* stacks that end where others go on */
#define LABEL_FOLDED (UINT32_MAX - 2) /* children below the threshold */

void massif_tree_done(struct massif_tree *tree)
{
	interns_done(&tree->labels);
	vec_done(&tree->frames);
	vec_done(&tree->paths);
	vec_done(&tree->order);
	vec_done(&tree->held);
	vec_done(&tree->pending);
	vec_done(&tree->children);
}

int massif_tree_label(struct massif_tree *tree, const char *label, uint32_t *ret_number)
{
	return interns_number_string(&tree->labels, label, ret_number);
}

int massif_tree_begin(struct massif_tree *tree)
{
	return tree->paths.len < UINT32_MAX ?
		       vec_push(&tree->paths, (struct massif_path){ .first = tree->frames.len }) :
		       -ENOMEM;
}

int massif_tree_push(struct massif_tree *tree, uint32_t label)
{
	int r = vec_push(&tree->frames, label);

	if (r == 0)
		tree->paths.data[tree->paths.len - 1].n++;
	return r;
}

void massif_tree_hold(struct massif_tree *tree, size_t stack, uint64_t bytes)
{
	tree->paths.data[stack].bytes = bytes;
}

static uint32_t label_at(const struct massif_tree *tree, const struct massif_path *path,
			 size_t depth)
{
	return depth < path->n ? tree->frames.data[path->first + depth] : LABEL_ENDED;
}

static int compare_paths(const void *a, const void *b, void *userdata)
{
	const struct massif_tree *tree = userdata;
	const struct massif_path *path_a = &tree->paths.data[*(const uint32_t *)a];
	const struct massif_path *path_b = &tree->paths.data[*(const uint32_t *)b];
	uint32_t label_a, label_b;
	size_t depth = 0;

	do {
		label_a = label_at(tree, path_a, depth);
		label_b = label_at(tree, path_b, depth++);
	} while (label_a == label_b && label_a != LABEL_ENDED);
	return (label_a > label_b) - (label_a < label_b);
}

/* Those of stacks that have been added since the last snapshot are not in the order yet. */
static int order_paths(struct massif_tree *tree)
{
	int r = 0;

	if (tree->order.len == tree->paths.len)
		return 0;
	for (size_t i = tree->order.len; r == 0 && i < tree->paths.len; i++)
		r = vec_push(&tree->order, (uint32_t)i);
	if (r == 0)
		qsort_r(tree->order.data, tree->order.len, sizeof(*tree->order.data), compare_paths,
			tree);
	return r;
}

static int find_held(struct massif_tree *tree, uint64_t *ret_bytes)
{
	int r = order_paths(tree);

	*ret_bytes = 0;
	tree->held.len = 0;
	for (size_t i = 0; r == 0 && i < tree->order.len; i++) {
		const struct massif_path *path = &tree->paths.data[tree->order.data[i]];

		if (path->bytes == 0)
			continue;
		*ret_bytes = saturate_add_u64(*ret_bytes, path->bytes);
		r = vec_push(&tree->held, *path);
	}
	return r;
}

/* The largest last, which is written first. */
static int compare_nodes(const void *item_a, const void *item_b)
{
	const struct massif_node *a = item_a, *b = item_b;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->label < b->label) - (a->label > b->label);
}

/* Groups the node's paths by their next frames. */
static int make_children(struct massif_tree *tree, const struct massif_node *node)
{
	int r = 0;

	tree->children.len = 0;
	for (size_t i = 0; r == 0 && i < node->n; i++) {
		const struct massif_path *path = &tree->held.data[node->first + i];
		size_t n = tree->children.len;
		struct massif_node *last = n > 0 ? &tree->children.data[n - 1] : NULL;
		uint32_t label = label_at(tree, path, node->depth);

		if (!last || last->label != label) {
			r = vec_push(&tree->children,
				     (struct massif_node){ label, node->depth + 1, node->first + i,
							   1, path->bytes });
			continue;
		}
		last->n++;
		last->bytes = saturate_add_u64(last->bytes, path->bytes);
	}
	if (tree->children.len == 1 && tree->children.data[0].label == LABEL_ENDED)
		tree->children.len = 0;
	return r;
}

/* What is below the threshold is one node then. */
static int fold_children(struct massif_tree *tree, uint32_t threshold, uint64_t total)
{
	struct massif_node folded = { .label = LABEL_FOLDED };
	size_t n = 0;
	int r = 0;

	vec_foreach(&tree->children, child) {
		if ((unsigned __int128)child->bytes * 10000 >=
		    (unsigned __int128)total * threshold) {
			tree->children.data[n++] = *child;
			continue;
		}
		folded.n++;
		folded.bytes = saturate_add_u64(folded.bytes, child->bytes);
	}
	tree->children.len = n;
	if (folded.n > 0)
		r = vec_push(&tree->children, folded);
	vec_sort(&tree->children, compare_nodes);
	return r;
}

static void put_node(const struct massif_tree *tree, const struct massif_node *node,
		     uint32_t threshold, FILE *file)
{
	fprintf(file, "%*sn%zu: %" PRIu64 " ", (int)node->depth, "", tree->children.len,
		node->bytes);
	if (node->label == LABEL_ROOT)
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", file);
	else if (node->label == LABEL_ENDED)
		fputs("0x0: ???\n", file);
	else if (node->label == LABEL_FOLDED) /* massif-visualizer knows it by these words */
		fprintf(file, "in %zu place%s below massif's threshold (%u.%02u%%)\n", node->n,
			node->n == 1 ? "," : "s, all", threshold / 100, threshold % 100);
	else
		fprintf(file, "%s\n", (const char *)interns_get(&tree->labels, node->label));
}

int massif_tree_write(struct massif_tree *tree, uint32_t threshold, uint64_t total, FILE *file)
{
	uint64_t bytes;
	int r = find_held(tree, &bytes);

	tree->pending.len = 0;
	if (r == 0)
		r = vec_push(&tree->pending,
			     (struct massif_node){ LABEL_ROOT, 0, 0, tree->held.len, bytes });
	while (r == 0 && tree->pending.len > 0) {
		const struct massif_node node = tree->pending.data[--tree->pending.len];

		tree->children.len = 0;
		if (node.label < LABEL_FOLDED || node.label == LABEL_ROOT)
			r = make_children(tree, &node);
		if (r == 0)
			r = fold_children(tree, threshold, total);
		if (r < 0)
			break;
		put_node(tree, &node, threshold, file);
		for (size_t i = 0; r == 0 && i < tree->children.len; i++) {
			struct massif_node child = tree->children.data[i];

			child.depth = node.depth + 1;
			r = vec_push(&tree->pending, child);
		}
	}
	return r;
}
