/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/stack_check.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "bpf/abi_stack_copy.h"
#include "elf/cfi/cfi_go.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* One more than the programs keep tells whether a stack goes on. */
#define MAX_FRAMES (ABI_MAX_FRAMES + 2)
/* DWARF's registers 0 to 15, and the return address: psABI x86-64, figure 3.36. */
#define DWARF_REGISTERS 17
#define DWARF_RSP 7
#define DWARF_RIP 16
/* What is asked for below it follows no pointer: vm.mmap_min_addr. */
#define LOWEST_MAPPING 65536

/* A process's code as libdwfl has it. */
struct image {
	uint32_t slot;
	Dwfl *dwfl;
	bool attached;
	VEC(struct stack_check_code) code; /* reported; paths and descriptors are not looked at */
	const struct abi_ev_stack_copy *copy; /* that is being walked */
	uint64_t returned; /* 0, or the return address at which the walk begins */
	bool outside;	   /* the last step asked for memory that is not in it */
	bool has_go;	   /* a file of Go's is there: libdwfl looks for names one by one */
};

struct stack_check {
	struct hashmap images;
	int vdso_fd; /* -1: there is none */
};

struct reference {
	struct image *image;
	uint64_t frames[MAX_FRAMES];
	size_t n;
	size_t sound;		 /* frames up to the first about which there is no information */
	bool whole;		 /* the information says that there the stack begins */
	bool guessed;		 /* there is no information about the last one */
	enum cfi_go_function go; /* the last one is in */
};

const char *stack_check_result_name(enum stack_check_result result)
{
	static const char *const names[CHECK_RESULTS] = {
		[CHECK_IDENTICAL] = "identical",
		[CHECK_REFERENCE_FAILED] = "identical-reference-failed",
		[CHECK_BOTH_GUESSED] = "identical-by-frame-pointer",
		[CHECK_DIFFERENT] = "different",
		[CHECK_TRUNCATED] = "truncated",
		[CHECK_CUT_WRONG] = "truncated-different",
		[CHECK_REFERENCE_SHORT] = "reference-short",
		[CHECK_NO_INFORMATION] = "no-information",
		[CHECK_NOT_COPIED] = "not-copied",
		[CHECK_NO_REFERENCE] = "no-reference",
	};

	return names[result];
}

/* --- what libdwfl asks for ------------------------------------------------------------------- */

/* Where in the copy the 8 bytes are; NULL: nowhere. */
static const uint8_t *copied(const struct abi_ev_stack_copy *copy, uint64_t addr)
{
	for (uint32_t area = 0; area < ABI_COPY_AREAS; area++) {
		uint64_t at = addr - copy->base[area];
		uint64_t last = at + sizeof(uint64_t) - 1;
		uint32_t first = area * ABI_COPY_AREA_PAGES;

		if (at >= ABI_COPY_AREA_PAGES * ABI_COPY_PAGE ||
		    last >= ABI_COPY_AREA_PAGES * ABI_COPY_PAGE)
			continue;
		if (copy->readable & 1U << (first + at / ABI_COPY_PAGE) &&
		    copy->readable & 1U << (first + last / ABI_COPY_PAGE))
			return copy->memory[first] + at;
	}
	return NULL;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *userdata)
{
	struct image *image = userdata;
	const struct abi_ev_stack_copy *copy = image->copy;
	const uint8_t *word;

	(void)dwfl; /* it is the image's */
	for (uint32_t i = 0; i < copy->returns && i < ABI_COPY_RETURNS; i++) {
		if (copy->replaced[i].slot == addr) {
			*result = copy->replaced[i].address;
			return true;
		}
	}
	word = copied(copy, addr);
	if (!word) {
		image->outside |= addr >= LOWEST_MAPPING;
		return false;
	}
	memcpy(result, word, sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *userdata)
{
	static const enum abi_register order[DWARF_REGISTERS] = {
		ABI_RAX, ABI_RDX, ABI_RCX, ABI_RBX, ABI_RSI, ABI_RDI, ABI_RBP, ABI_RSP, ABI_R8,
		ABI_R9,	 ABI_R10, ABI_R11, ABI_R12, ABI_R13, ABI_R14, ABI_R15, ABI_RIP,
	};
	const struct image *image = userdata;
	Dwarf_Word registers[DWARF_REGISTERS];

	for (size_t i = 0; i < DWARF_REGISTERS; i++)
		registers[i] = image->copy->reg[order[i]];
	if (image->returned) {
		registers[DWARF_RIP] = image->returned;
		registers[DWARF_RSP] += sizeof(uint64_t);
	}
	return dwfl_thread_state_registers(thread, 0, DWARF_REGISTERS, registers);
}

/* Every image has one thread: that whose stack is being walked. */
static bool get_thread(Dwfl *dwfl, pid_t tid, void *userdata, void **ret_userdata)
{
	(void)dwfl, (void)tid;
	*ret_userdata = userdata;
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *userdata, void **ret_userdata)
{
	(void)dwfl, (void)userdata, (void)ret_userdata; /* threads are not listed */
	return 0;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int no_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1; /* each is reported with its descriptor */
}

static int no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			const char *file_name, const char *link_name, GElf_Word crc,
			char **debug_name)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name;
	(void)link_name, (void)crc, (void)debug_name;
	return -1; /* what unwinding needs is loaded with the program */
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* --- images ---------------------------------------------------------------------------------- */

static void image_free(void *item)
{
	struct image *image = item;

	if (image->dwfl)
		dwfl_end(image->dwfl);
	vec_done(&image->code);
	free(image);
}

DEFINE_HASHMAP_OPS(image_ops, struct image, image_free, slot);

/* A vDSO is the same code in all processes, ours included. */
static int vdso_file(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const size_t len = 2 * ABI_COPY_PAGE;
	_cleanup_close_ int fd = vdso ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd < 0 || pwrite(fd, vdso, len, 0) != (ssize_t)len)
		return -1;
	return TAKE_FD(fd);
}

/*
 * Difference between the addresses in the process and in the file. Segments of lld's share pages of
 * the file, and only one of them is code.
 */
static int bias_of(int fd, const struct stack_check_code *code, uint64_t *ret_bias)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	size_t n = 0;
	int r = -ENOENT;

	if (!elf || elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n && r; i++) {
		GElf_Phdr phdr;
		uint64_t page = ~(uint64_t)(ABI_COPY_PAGE - 1);

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X) || code->offset < (phdr.p_offset & page) ||
		    code->offset >= phdr.p_offset + phdr.p_filesz)
			continue;
		*ret_bias = code->start - code->offset + phdr.p_offset - phdr.p_vaddr;
		r = 0;
	}
	elf_end(elf);
	return r;
}

static bool is_go(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	bool found = false;
	size_t names = 0;

	if (elf && elf_getshdrstrndx(elf, &names) == 0)
		while (!found && (section = elf_nextscn(elf, section))) {
			GElf_Shdr shdr;
			const char *name = gelf_getshdr(section, &shdr) ?
						   elf_strptr(elf, names, shdr.sh_name) :
						   NULL;

			found = name && strstr(name, ".gopclntab");
		}
	elf_end(elf);
	return found;
}

/* A file that is no ELF file is code without information. */
static void report_code(struct stack_check *check, struct image *image,
			const struct stack_check_code *code)
{
	int fd = code->vdso ? check->vdso_fd : code->fd;
	_cleanup_close_ int own_fd = fd < 0 ? -1 : dup(fd);
	const char *name = code->vdso ? "vdso" : code->path;
	uint64_t bias;

	if (own_fd < 0 || bias_of(own_fd, code, &bias))
		return;
	image->has_go |= is_go(own_fd);
	dwfl_report_begin_add(image->dwfl);
	if (dwfl_report_elf(image->dwfl, name, name, own_fd, bias, true))
		own_fd = -1;				/* libdwfl closes it */
	(void)dwfl_report_end(image->dwfl, NULL, NULL); /* nothing is removed */
}

static bool same_code(const struct stack_check_code *a, const struct stack_check_code *b)
{
	return a->start == b->start && a->offset == b->offset && a->path == b->path;
}

/* Is what was reported the beginning of this? */
static bool only_grown(const struct image *image, const struct stack_check_code *code, size_t n)
{
	for (size_t i = 0; i < image->code.len; i++)
		if (i >= n || !same_code(&image->code.data[i], &code[i]))
			return false;
	return true;
}

static int image_begin(struct image *image)
{
	if (image->dwfl)
		dwfl_end(image->dwfl);
	image->attached = image->has_go = false;
	image->code.len = 0;
	image->dwfl = dwfl_begin(&dwfl_callbacks);
	return image->dwfl ? 0 : -ENOMEM;
}

static int image_update(struct stack_check *check, struct image *image,
			const struct stack_check_code *code, size_t n)
{
	int r = image->dwfl && only_grown(image, code, n) ? 0 : image_begin(image);

	while (r == 0 && image->code.len < n) {
		const struct stack_check_code *next = &code[image->code.len];

		/* a file's other segments came with its first */
		if (!dwfl_addrmodule(image->dwfl, next->start))
			report_code(check, image, next);
		r = vec_push(&image->code, *next);
	}
	if (r == 0 && !image->attached)
		image->attached = dwfl_attach_state(image->dwfl, NULL, (pid_t)image->slot + 1,
						    &thread_callbacks, image);
	return r;
}

static int image_of(struct stack_check *check, uint32_t slot, struct image **ret_image)
{
	const struct image added = { .slot = slot };

	*ret_image = hashmap_intern(&check->images, &added, sizeof(added), NULL);
	return *ret_image ? 0 : -ENOMEM;
}

int stack_check_new(struct stack_check **ret_check)
{
	struct stack_check *check = calloc(1, sizeof(*check));

	if (!check)
		return -ENOMEM;
	(void)elf_version(EV_CURRENT); /* it knows none but this */
	check->vdso_fd = vdso_file();
	check->images.ops = &image_ops;
	*ret_check = check;
	return 0;
}

void stack_check_free(struct stack_check *check)
{
	if (!check)
		return;
	hashmap_done(&check->images);
	if (check->vdso_fd >= 0)
		close(check->vdso_fd);
	free(check);
}

void stack_check_forget(struct stack_check *check, uint32_t slot)
{
	const struct image key = { .slot = slot };
	struct image *image = hashmap_remove(&check->images, &key);

	if (image)
		image_free(image);
}

/* --- walking and comparing ------------------------------------------------------------------- */

static bool is_in(Dwarf_CFI *cfi, uint64_t address)
{
	Dwarf_Frame *frame = NULL;
	bool found = cfi && dwarf_cfi_addrframe(cfi, address, &frame) == 0;

	free(frame);
	return found;
}

/* Has the file information about this return address? Else libdwfl tries the frame pointer. */
static bool has_information(Dwfl *dwfl, uint64_t address)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, address - 1);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;

	if (is_in(cfi, address - 1 - bias))
		return true;
	cfi = module ? dwfl_module_dwarf_cfi(module, &bias) : NULL;
	return is_in(cfi, address - 1 - bias);
}

/*
 * Is that Go's function that changes stacks? What the information says of its caller is false: it
 * has none, or one on a stack of which there is no copy.
 */
static bool ends_in_go(struct reference *reference, uint64_t address)
{
	Dwfl_Module *module =
		reference->image->has_go ? dwfl_addrmodule(reference->image->dwfl, address) : NULL;
	const char *name = module ? dwfl_module_addrname(module, address) : NULL;

	reference->go = name ? cfi_go_function(name) : CFI_GO_NONE;
	reference->image->outside |=
		reference->go == CFI_GO_SWITCHES || reference->go == CFI_GO_RESUMES;
	return reference->go != CFI_GO_NONE;
}

static int add_reference_frame(Dwfl_Frame *frame, void *userdata)
{
	struct reference *reference = userdata;
	bool is_exact;
	Dwarf_Addr pc;

	reference->image->outside = false; /* dwfl_frame_pc() looks for the caller already */
	if (reference->n == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	if (reference->sound == reference->n &&
	    has_information(reference->image->dwfl, pc + is_exact))
		reference->sound++;
	reference->frames[reference->n++] = pc;
	return ends_in_go(reference, pc - !is_exact) ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The mapping that begins last before the address. */
static const struct stack_check_code *code_at(const struct stack_check_code *code, size_t n,
					      uint64_t addr)
{
	const struct stack_check_code *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (code[i].start <= addr && (!found || code[i].start >= found->start))
			found = &code[i];
	return found;
}

/* Is the next instruction a `ret`? By the file, of which the process may have another copy. */
static bool returns_at(const struct stack_check_code *code, uint64_t address)
{
	uint8_t byte = 0;

	return code && code->fd >= 0 &&
	       pread(code->fd, &byte, 1, (off_t)(address - code->start + code->offset)) == 1 &&
	       byte == 0xc3;
}

/*
 * The return address of a function that is about to return; 0: it is not, or the file has
 * information. Without it libdwfl would go by the frame pointer, which is the caller's already.
 */
static uint64_t return_address(struct image *image, const struct stack_check_code *code,
			       size_t n_code)
{
	uint64_t ip = image->copy->reg[ABI_RIP];
	Dwarf_Word address = 0;

	if (has_information(image->dwfl, ip + 1) || !returns_at(code_at(code, n_code, ip), ip) ||
	    !read_memory(image->dwfl, image->copy->reg[ABI_RSP], &address, image))
		return 0;
	return address;
}

static void walk_reference(struct image *image, const struct abi_ev_stack_copy *copy,
			   const struct stack_check_code *code, size_t n_code,
			   struct reference *reference)
{
	image->copy = copy;
	image->outside = false;
	image->returned = return_address(image, code, n_code);
	reference->image = image;
	reference->n = reference->sound = 0;
	reference->go = CFI_GO_NONE;
	/* A return address that cannot be read passes for none with libdwfl: a whole stack. */
	reference->whole = dwfl_getthread_frames(image->dwfl, (pid_t)image->slot + 1,
						 add_reference_frame, reference) == 0;
	reference->whole = (reference->whole || reference->go != CFI_GO_NONE) && !image->outside;
	reference->guessed = reference->n > 1 && reference->go == CFI_GO_NONE &&
			     !has_information(image->dwfl, reference->frames[reference->n - 1]);
	image->copy = NULL;
}

/* Stacks of returns and system calls begin in the caller of what was running. */
static void drop_first(struct reference *reference)
{
	if (reference->n == 0)
		return;
	reference->n--;
	reference->sound -= reference->sound > 0;
	memmove(reference->frames, reference->frames + 1,
		reference->n * sizeof(reference->frames[0]));
}

static enum stack_check_result compare_with_reference(const struct image *image,
						      const struct stack_check_walked *walked,
						      const struct reference *reference)
{
	size_t both = walked->n < reference->n ? walked->n : reference->n, equal = 0;

	while (equal < both && walked->frames[equal] == reference->frames[equal])
		equal++;
	if (walked->whole && !walked->by_frame_pointer && reference->go == CFI_GO_NONE &&
	    equal < walked->n && equal > reference->sound)
		return CHECK_NO_INFORMATION;
	if (equal < both)
		return walked->whole ? CHECK_DIFFERENT : CHECK_CUT_WRONG;
	if (!walked->whole && walked->n <= reference->n)
		return CHECK_TRUNCATED;
	if (image->outside && !reference->guessed)
		return CHECK_NOT_COPIED;
	if (walked->n == reference->n && walked->by_frame_pointer)
		return CHECK_BOTH_GUESSED;
	if (walked->n == reference->n)
		return reference->whole ? CHECK_IDENTICAL : CHECK_REFERENCE_FAILED;
	if (reference->whole || walked->n < reference->n)
		return walked->whole ? CHECK_DIFFERENT : CHECK_CUT_WRONG;
	return walked->whole ? CHECK_REFERENCE_SHORT : CHECK_TRUNCATED;
}

static void describe_frames(struct strbuf *out, const uint64_t *frames, size_t n_frames,
			    const struct stack_check_code *code, size_t n_code)
{
	for (size_t i = 0; i < n_frames; i++) {
		const struct stack_check_code *at = code_at(code, n_code, frames[i]);

		if (i > 0)
			strbuf_addch(out, '\n');
		if (at && at->path)
			strbuf_addf(out, "%s+0x%" PRIx64, at->path,
				    frames[i] - at->start + at->offset);
		else
			strbuf_addf(out, "0x%" PRIx64, frames[i]);
	}
}

int stack_check_compare(struct stack_check *check, const struct abi_ev_stack_copy *copy,
			const struct stack_check_code *code, size_t n_code,
			const struct stack_check_walked *walked,
			enum stack_check_result *ret_result, struct strbuf *ours,
			struct strbuf *theirs)
{
	struct reference reference;
	struct image *image;
	int r = image_of(check, copy->head.slot, &image);

	if (r == 0)
		r = image_update(check, image, code, n_code);
	if (r)
		return r;
	*ret_result = CHECK_NO_REFERENCE;
	if (!image->attached || copy->returns > ABI_COPY_RETURNS)
		return 0;
	walk_reference(image, copy, code, n_code, &reference);
	if (!image->returned && walked->n > 0 && walked->frames[0] != copy->reg[ABI_RIP])
		drop_first(&reference);
	*ret_result = compare_with_reference(image, walked, &reference);
	if (*ret_result == CHECK_DIFFERENT || *ret_result == CHECK_CUT_WRONG ||
	    *ret_result == CHECK_REFERENCE_SHORT) {
		describe_frames(ours, walked->frames, walked->n, code, n_code);
		describe_frames(theirs, reference.frames, reference.n, code, n_code);
	}
	return strbuf_error(ours) || strbuf_error(theirs) ? -ENOMEM : 0;
}
