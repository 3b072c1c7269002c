/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/tracepoint_format.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* The most in Linux 6.18 are 24 fields, 53 characters of declaration and records of 5 KiB. */
#define MAX_FIELDS 256
#define MAX_DECLARATION 255
#define MAX_RECORD (64 * 1024)

/* Bytes of the text. */
struct span {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static struct span trim_blanks(struct span s)
{
	while (s.at < s.end && is_blank(*s.at))
		s.at++;
	while (s.at < s.end && is_blank(s.end[-1]))
		s.end--;
	return s;
}

/* Cuts `prefix` off the front of *s. */
static bool cut_prefix(struct span *s, const char *prefix)
{
	size_t len = strlen(prefix);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, prefix, len) != 0)
		return false;
	s->at += len;
	return true;
}

/* Cuts what stands before `stop` off the front of *s, and `stop` with it. */
static bool cut_until(struct span *s, char stop, struct span *ret_taken)
{
	const char *found = s->at < s->end ? memchr(s->at, stop, (size_t)(s->end - s->at)) : NULL;

	if (!found)
		return false;
	*ret_taken = (struct span){ s->at, found };
	s->at = found + 1;
	return true;
}

static bool read_number(struct span s, uint32_t max, uint32_t *ret)
{
	uint32_t n = 0;

	s = trim_blanks(s);
	if (s.at == s.end)
		return false;
	for (; s.at < s.end; s.at++) {
		if (*s.at < '0' || *s.at > '9')
			return false;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint32_t)(*s.at - '0'), &n) || n > max)
			return false;
	}
	*ret = n;
	return true;
}

/* --- types ------------------------------------------------------------------------------------ */

struct c_type {
	const char *name;
	uint8_t size;
	bool is_signed, is_pointer;
};

/* Types of system calls' arguments on 64-bit kernels; what is not here fills its slot. */
static const struct c_type c_types[] = {
	{ "int", 4, true, false },
	{ "unsigned int", 4, false, false },
	{ "unsigned", 4, false, false },
	{ "long", 8, true, false },
	{ "long int", 8, true, false },
	{ "long long", 8, true, false },
	{ "short", 2, true, false },
	{ "unsigned short", 2, false, false },
	{ "signed char", 1, true, false },
	{ "char", 1, false, false }, /* the kernel is built with -funsigned-char */
	{ "unsigned char", 1, false, false },
	{ "bool", 1, false, false },
	{ "s8", 1, true, false },
	{ "u8", 1, false, false },
	{ "s16", 2, true, false },
	{ "u16", 2, false, false },
	{ "s32", 4, true, false },
	{ "u32", 4, false, false },
	{ "s64", 8, true, false },
	{ "__s8", 1, true, false },
	{ "__u8", 1, false, false },
	{ "__s16", 2, true, false },
	{ "__u16", 2, false, false },
	{ "__s32", 4, true, false },
	{ "__u32", 4, false, false },
	{ "__s64", 8, true, false },
	{ "ssize_t", 8, true, false },
	{ "off_t", 8, true, false },
	{ "loff_t", 8, true, false },
	{ "time_t", 8, true, false },
	{ "__kernel_old_time_t", 8, true, false },
	{ "ptrdiff_t", 8, true, false },
	{ "pid_t", 4, true, false },
	{ "key_t", 4, true, false },
	{ "key_serial_t", 4, true, false },
	{ "clockid_t", 4, true, false },
	{ "timer_t", 4, true, false },
	{ "mqd_t", 4, true, false },
	{ "rwf_t", 4, true, false },
	{ "uid_t", 4, false, false },
	{ "gid_t", 4, false, false },
	{ "qid_t", 4, false, false },
	{ "dev_t", 4, false, false },
	{ "umode_t", 2, false, false },
	{ "mode_t", 4, false, false },
	{ "old_uid_t", 2, false, false },
	{ "old_gid_t", 2, false, false },
	{ "cap_user_header_t", 8, false, true },
	{ "cap_user_data_t", 8, false, true },
	{ "__sighandler_t", 8, false, true },
};
/* An enumeration is an int, as none of those in system calls has negative values: unsigned. */
static const struct c_type enumeration = { "enum", 4, false, false };

/* Cuts the next word off the front of *s. */
static bool cut_word(struct span *s, struct span *ret_word)
{
	*s = trim_blanks(*s);
	ret_word->at = s->at;
	while (s->at < s->end && !is_blank(*s->at))
		s->at++;
	ret_word->end = s->at;
	return ret_word->end > ret_word->at;
}

static bool equals(struct span s, const char *word)
{
	return cut_prefix(&s, word) && s.at == s.end;
}

/* The row of a type without stars, whose qualifiers do not matter; NULL: none. */
static const struct c_type *find_type(struct span type)
{
	char plain[MAX_DECLARATION + 2];
	size_t len = 0;
	struct span word;

	while (cut_word(&type, &word)) {
		size_t n = (size_t)(word.end - word.at);

		if (equals(word, "const") || equals(word, "volatile"))
			continue;
		if (len == 0 && equals(word, "enum"))
			return &enumeration;
		if (len + 1 + n >= sizeof(plain))
			return NULL;
		if (len > 0)
			plain[len++] = ' ';
		memcpy(plain + len, word.at, n);
		len += n;
	}
	plain[len] = '\0';
	for (size_t i = 0; i < N_ELEMENTS(c_types); i++)
		if (strcmp(c_types[i].name, plain) == 0)
			return &c_types[i];
	return NULL;
}

static bool is_structure(struct span type)
{
	struct span word;

	while (cut_word(&type, &word))
		if (equals(word, "struct") || equals(word, "union"))
			return true;
	return false;
}

static bool is_char(struct span type)
{
	const struct c_type *found = find_type(type);

	return found && strcmp(found->name, "char") == 0;
}

static bool has_star(struct span type)
{
	return memchr(type.at, '*', (size_t)(type.end - type.at)) != NULL;
}

/* --- fields ----------------------------------------------------------------------------------- */

/*
 * "unsigned int fd", "char prev_comm[16]", "__data_loc char[] cmd": the name is the last word but
 * for the brackets behind it. __rel_loc fields have theirs there, __data_loc ones in the type.
 */
static bool split_declaration(struct span text, struct span *ret_type, struct span *ret_name,
			      bool *ret_brackets)
{
	struct span name = trim_blanks(text);

	*ret_brackets = false;
	if (name.at < name.end && name.end[-1] == ']') {
		while (name.end > name.at && name.end[-1] != '[')
			name.end--;
		if (name.end == name.at)
			return false;
		name.end--;
		name = trim_blanks(name);
		*ret_brackets = true;
	}
	*ret_type = name;
	name.at = name.end;
	while (name.at > ret_type->at && is_word(name.at[-1]))
		name.at--;
	ret_type->end = name.at;
	*ret_type = trim_blanks(*ret_type);
	*ret_name = name;
	return name.at < name.end && ret_type->at < ret_type->end;
}

static bool is_value_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static enum tp_field_kind kind_of(struct span type, bool brackets, uint32_t size)
{
	struct span rest = type;

	if (cut_prefix(&rest, "__data_loc ") || cut_prefix(&rest, "__rel_loc "))
		return TP_FIELD_DYNAMIC;
	if (brackets)
		return is_char(type) ? TP_FIELD_STRING : TP_FIELD_ARRAY;
	if (!is_value_size(size) || (is_structure(type) && !has_star(type)))
		return TP_FIELD_ARRAY;
	return TP_FIELD_INT;
}

/* What of an argument's slot is its value: the text says "size:8; signed:0" for all of them. */
static void narrow_argument(struct tp_field *field, struct span type)
{
	const struct c_type *found;

	if (field->kind != TP_FIELD_INT || field->is_pointer)
		return;
	found = find_type(type);
	if (!found || found->size > field->size)
		return;
	field->value_size = found->size;
	field->is_signed = found->is_signed;
	field->is_pointer = found->is_pointer;
}

static bool cut_setting(struct span *line, const char *name, uint32_t max, uint32_t *ret)
{
	struct span number;

	*line = trim_blanks(*line);
	return cut_prefix(line, name) && cut_until(line, ';', &number) &&
	       read_number(number, max, ret);
}

/* What stands behind "field:". `arguments`: a system call's follow the number of the call. */
static int parse_field(struct span line, bool is_common, bool arguments, struct tp_field *ret_field)
{
	struct tp_field field = { .is_common = is_common };
	struct span declaration, type, name;
	uint32_t is_signed = 0;
	bool brackets;

	if (!cut_until(&line, ';', &declaration) ||
	    declaration.end - declaration.at > MAX_DECLARATION ||
	    !split_declaration(declaration, &type, &name, &brackets))
		return -EBADMSG;
	if (!cut_setting(&line, "offset:", MAX_RECORD, &field.offset) ||
	    !cut_setting(&line, "size:", MAX_RECORD - field.offset, &field.size))
		return -EBADMSG;
	line = trim_blanks(line);
	if (line.at < line.end && !cut_setting(&line, "signed:", 1, &is_signed))
		return -EBADMSG;
	field.kind = kind_of(type, brackets, field.size);
	if (field.kind == TP_FIELD_DYNAMIC && field.size != 4)
		return -EBADMSG;
	field.is_signed = is_signed;
	field.is_pointer = field.kind == TP_FIELD_INT && has_star(type);
	field.value_size = field.size;
	if (arguments && !is_common)
		narrow_argument(&field, type);
	field.name = strndup(name.at, (size_t)(name.end - name.at));
	if (!field.name)
		return -ENOMEM;
	*ret_field = field;
	return 0;
}

/* --- the text --------------------------------------------------------------------------------- */

struct parser {
	char *name;
	uint32_t id;
	VEC(struct tp_field) fields;
	bool has_id;
	bool in_own; /* behind the empty line that ends the common fields */
	bool ended;  /* by "print fmt:", without which the text has been cut */
};

static int add_field(struct parser *p, struct span line)
{
	bool arguments = strncmp(p->name, "sys_enter_", 10) == 0;
	struct tp_field field;
	int r;

	if (p->fields.len == MAX_FIELDS)
		return -EBADMSG;
	r = parse_field(line, !p->in_own, arguments, &field);
	if (r < 0)
		return r;
	r = vec_push(&p->fields, field);
	if (r < 0)
		free(field.name);
	return r;
}

static int parse_line(struct parser *p, struct span line)
{
	line = trim_blanks(line);
	if (line.at == line.end) {
		p->in_own = p->fields.len > 0;
		return 0;
	}
	if (cut_prefix(&line, "print fmt:")) {
		p->ended = true;
		return 0;
	}
	if (cut_prefix(&line, "name:")) {
		line = trim_blanks(line);
		if (p->name || line.at == line.end ||
		    memchr(line.at, '\0', (size_t)(line.end - line.at)))
			return -EBADMSG;
		p->name = strndup(line.at, (size_t)(line.end - line.at));
		return p->name ? 0 : -ENOMEM;
	}
	if (cut_prefix(&line, "ID:")) {
		p->has_id = true;
		return read_number(line, UINT32_MAX, &p->id) ? 0 : -EBADMSG;
	}
	if (cut_prefix(&line, "field:"))
		return p->name ? add_field(p, line) : -EBADMSG;
	return equals(line, "format:") ? 0 : -EBADMSG;
}

int tp_format_parse(const char *text, size_t len, struct tp_format *ret_format)
{
	struct span rest = { text, text + len }, line;
	struct parser p = { .has_id = false };
	struct tp_format format;
	int r = 0;

	while (r == 0 && !p.ended && cut_until(&rest, '\n', &line))
		r = parse_line(&p, line);
	if (r == 0 && (!p.name || !p.has_id || !p.ended))
		r = -EBADMSG;
	format = (struct tp_format){ p.name, p.id, p.fields.data, p.fields.len };
	if (r < 0)
		tp_format_done(&format);
	else
		*ret_format = format;
	return r;
}

void tp_format_done(struct tp_format *format)
{
	for (size_t i = 0; i < format->n_fields; i++)
		free(format->fields[i].name);
	free(format->fields);
	free(format->name);
	*format = (struct tp_format){ 0 };
}

const struct tp_field *tp_format_find(const struct tp_format *format, const char *name)
{
	for (size_t i = 0; i < format->n_fields; i++)
		if (strcmp(format->fields[i].name, name) == 0)
			return &format->fields[i];
	return NULL;
}

void tp_format_list(const struct tp_format *format, enum tp_field_kind kind, struct strbuf *out)
{
	const char *separator = "";

	for (size_t i = 0; i < format->n_fields; i++) {
		const struct tp_field *field = &format->fields[i];

		/* The number of the system call is left out. */
		if (field->is_common || field->kind != kind || strncmp(field->name, "__", 2) == 0)
			continue;
		strbuf_addf(out, "%s%s", separator, field->name);
		separator = ", ";
	}
}
