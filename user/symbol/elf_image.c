/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_image.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "elf/elf_read.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* All are gone through for each address. Linkers make 2 to 6, prelinked programs some more. */
#define MAX_LOADS 128
/*
 * What becomes of compressed bytes: debug information shrinks to a third or a tenth, a string table
 * to a twentieth. What shrinks to less was made to take long.
 */
#define MAX_RATIO 64
#define LEAST_UNPACKED (64 << 10)

struct elf_image {
	int fd;
	struct elf_stamp stamp;
	char *memory;
	Elf *elf;
	uint64_t size; /* of the file, or in memory */
	VEC(struct elf_load) loads;
	VEC(void *) unpacked;	 /* bytes of sections, in place of the compressed ones */
	struct name_table names; /* of sections; none where there is none that is believed */
};

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define NATIVE_ELFDATA ELFDATA2LSB
#else
#define NATIVE_ELFDATA ELFDATA2MSB
#endif

/*
 * libelf allocates by the counts in the header. Counts kept elsewhere, because they do not fit into
 * 16 bits, occur in compilers' object files only: here they would be a way to ask for much memory.
 */
static bool header_is_sane(const char *head, size_t len)
{
	const Elf64_Ehdr *e64 = (const Elf64_Ehdr *)head;
	const Elf32_Ehdr *e32 = (const Elf32_Ehdr *)head;

	if (len < sizeof(*e64) || memcmp(head, ELFMAG, SELFMAG) != 0 ||
	    head[EI_DATA] != NATIVE_ELFDATA)
		return false;
	/* At the same place in both classes. dwz's common files are relocatable by type. */
	if (e64->e_type != ET_EXEC && e64->e_type != ET_DYN && e64->e_type != ET_REL)
		return false;
	if (head[EI_CLASS] == ELFCLASS64)
		return e64->e_phnum < PN_XNUM && (e64->e_shnum > 0 || e64->e_shoff == 0);
	if (head[EI_CLASS] == ELFCLASS32)
		return e32->e_phnum < PN_XNUM && (e32->e_shnum > 0 || e32->e_shoff == 0);
	return false;
}

static int read_loads(struct elf_image *image)
{
	size_t n, i;
	GElf_Phdr ph;
	int r;

	if (elf_getphdrnum(image->elf, &n) < 0)
		return -ENOEXEC;
	for (i = 0; i < n && image->loads.len < MAX_LOADS; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		r = vec_push(&image->loads,
			     (struct elf_load){ ph.p_vaddr, ph.p_offset, ph.p_filesz, ph.p_memsz,
						(ph.p_flags & PF_X) != 0 });
		if (r < 0)
			return r;
	}
	return 0;
}

static void read_build_id(struct elf_image *image)
{
	const uint8_t *bytes = NULL;
	size_t n = elf_build_id(image->elf, image->size, &bytes);

	if (n == 0 || n > ELF_MAX_BUILD_ID)
		return;
	memcpy(image->stamp.build_id.bytes, bytes, n);
	image->stamp.build_id.len = (uint8_t)n;
}

static void read_names(struct elf_image *image)
{
	size_t index;

	if (elf_getshdrstrndx(image->elf, &index) < 0 ||
	    name_table_read(image->elf, index, &image->names) < 0)
		image->names = (struct name_table){ 0 };
}

static void set_times(struct elf_stamp *stamp, const struct stat *st)
{
	stamp->size_bytes = (uint64_t)st->st_size;
	stamp->modified_s = (uint64_t)st->st_mtim.tv_sec;
	stamp->modified_ns = (uint64_t)st->st_mtim.tv_nsec;
}

/* Of its `elf`, which may be NULL. 0, -ENOEXEC or -ENOMEM. */
static int read_image(struct elf_image *image)
{
	int r;

	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF)
		return -ENOEXEC;
	r = read_loads(image);
	if (r < 0)
		return r;
	read_build_id(image);
	read_names(image);
	return 0;
}

int elf_image_open(int fd, struct elf_image **ret_image)
{
	_cleanup_(elf_image_free_p) struct elf_image *image = calloc(1, sizeof(*image));
	_Alignas(Elf64_Ehdr) char head[sizeof(Elf64_Ehdr)];
	struct stat st;
	ssize_t n;
	int r;

	if (!image)
		return -ENOMEM;
	image->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (image->fd < 0 || fstat(image->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	set_times(&image->stamp, &st);
	image->size = (uint64_t)st.st_size;
	n = pread(image->fd, head, sizeof(head), 0);
	if (n < 0)
		return -errno;
	if (!header_is_sane(head, (size_t)n))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	r = read_image(image);
	if (r < 0)
		return r;
	*ret_image = TAKE_PTR(image);
	return 0;
}

int elf_image_from_memory(char *data, size_t size_bytes, struct elf_image **ret_image)
{
	_cleanup_(elf_image_free_p) struct elf_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image) {
		free(data);
		return -ENOMEM;
	}
	image->fd = -1;
	image->memory = data;
	image->size = size_bytes;
	if (!header_is_sane(data, size_bytes))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	image->elf = elf_memory(data, size_bytes);
	r = read_image(image);
	if (r < 0)
		return r;
	*ret_image = TAKE_PTR(image);
	return 0;
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	vec_foreach(&image->unpacked, bytes)
		free(*bytes);
	vec_done(&image->unpacked);
	vec_done(&image->loads);
	free(image->memory);
	if (image->fd >= 0)
		close(image->fd);
	free(image);
}

bool elf_image_is_unchanged(const struct elf_image *image)
{
	const struct elf_stamp *then = &image->stamp;
	struct elf_stamp now;
	struct stat st;

	if (image->fd < 0)
		return true;
	if (fstat(image->fd, &st) < 0)
		return false;
	set_times(&now, &st);
	return now.size_bytes == then->size_bytes && now.modified_s == then->modified_s &&
	       now.modified_ns == then->modified_ns;
}

int elf_image_fd(const struct elf_image *image)
{
	return image->fd;
}

Elf *elf_image_elf(const struct elf_image *image)
{
	return image->elf;
}

const struct elf_stamp *elf_image_stamp(const struct elf_image *image)
{
	return &image->stamp;
}

const struct elf_load *elf_image_loads(const struct elf_image *image, size_t *ret_n)
{
	*ret_n = image->loads.len;
	return image->loads.data;
}

bool elf_image_is_code(const struct elf_image *image, uint64_t vaddr)
{
	vec_foreach(&image->loads, load)
		if (load->executable && vaddr >= load->vaddr &&
		    vaddr - load->vaddr < load->mem_bytes)
			return true;
	return false;
}

static const char *section_name(const struct elf_image *image, const GElf_Shdr *sh)
{
	struct name_table names = image->names;
	size_t len;
	const char *name = name_table_get(&names, sh->sh_name, &len);

	return name ? name : "";
}

Elf_Scn *elf_image_section(const struct elf_image *image, const char *name, uint32_t type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size == 0)
			continue;
		if (type != SHT_NULL && sh.sh_type != type)
			continue;
		if (!name || strcmp(section_name(image, &sh), name) == 0)
			return scn;
	}
	return NULL;
}

static uint64_t unpacked_bytes(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr ch;

	if (!(sh->sh_flags & SHF_COMPRESSED))
		return sh->sh_size;
	return gelf_getchdr(scn, &ch) ? ch.ch_size : 0;
}

static bool ratio_is_sane(uint64_t packed_bytes, uint64_t bytes)
{
	return bytes <= LEAST_UNPACKED || bytes / MAX_RATIO <= packed_bytes;
}

Elf_Data *elf_image_data(Elf_Scn *scn, uint64_t max_bytes)
{
	Elf_Data *data;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh) || sh.sh_size > max_bytes ||
	    unpacked_bytes(scn, &sh) > max_bytes ||
	    !ratio_is_sane(sh.sh_size, unpacked_bytes(scn, &sh)))
		return NULL;
	if ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

/* A .zdebug_ section, which older Go linkers write, begins with "ZLIB" and its size, big-endian. */
static uint64_t zdebug_bytes(const struct elf_image *image, const GElf_Shdr *sh)
{
	struct {
		char magic[4];
		uint8_t size[8];
	} head;
	uint64_t size;

	if (image->fd < 0 ||
	    pread(image->fd, &head, sizeof(head), (off_t)sh->sh_offset) != sizeof(head))
		return UINT32_MAX;
	memcpy(&size, head.size, sizeof(size));
	return be64toh(size);
}

uint64_t elf_image_debug_bytes(const struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0, n;
	const char *name;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = section_name(image, &sh);
		if (strncmp(name, ".debug_", 7) == 0)
			n = unpacked_bytes(scn, &sh);
		else if (strncmp(name, ".zdebug_", 8) == 0)
			n = zdebug_bytes(image, &sh);
		else
			continue;
		if (!ratio_is_sane(sh.sh_size, n))
			return UINT64_MAX;
		if (__builtin_add_overflow(sum, n, &sum))
			return UINT64_MAX;
	}
	return sum;
}

static int unpack_section(struct elf_image *image, Elf_Scn *scn, GElf_Shdr *sh)
{
	_cleanup_free_ void *bytes = NULL;
	uint64_t size = unpacked_bytes(scn, sh);
	Elf_Data *data;
	int r;

	/* A libelf that knows zstd does it: its libdw reads elf_rawdata(), packed below. */
	if (elf_compress(scn, 0, 0) >= 0)
		return 0;
	data = elf_getdata(scn, NULL);
	r = data ? elf_zstd_unpack(image->elf, scn, &bytes) : -EBADMSG;
	if (r == 0)
		r = vec_push(&image->unpacked, bytes);
	if (r < 0)
		return r;
	data->d_buf = TAKE_PTR(bytes);
	data->d_size = size;
	data->d_type = ELF_T_BYTE;
	sh->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	sh->sh_size = size;
	return gelf_update_shdr(scn, sh) ? 0 : -ENOMEM;
}

int elf_image_unpack_zstd(struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	while (r != -ENOMEM && (scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, &sh) && elf_zstd_is_packed(scn) &&
		    strncmp(section_name(image, &sh), ".debug_", 7) == 0)
			r = unpack_section(image, scn, &sh);
	return r == -ENOMEM ? r : 0;
}

bool elf_image_has_dwarf(const struct elf_image *image)
{
	return elf_image_section(image, ".debug_info", SHT_NULL) ||
	       elf_image_section(image, ".zdebug_info", SHT_NULL);
}

#define MAX_LINK_BYTES (64 << 10)

/* NULL where there is none, or it is malformed. 0 or -ENOMEM. */
static int read_debuglink(const struct elf_image *image, struct elf_facts *facts)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debuglink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	size_t len, crc_at;

	if (!data)
		return 0;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 1 + 3) & ~(size_t)3;
	if (len == 0 || len > NAME_MAX || crc_at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return 0;
	memcpy(&facts->link_crc, (const char *)data->d_buf + crc_at, 4);
	facts->link = strdup(data->d_buf);
	return facts->link ? 0 : -ENOMEM;
}

/* The same of the common file that dwz made, with its build ID. */
static int read_altlink(const struct elf_image *image, struct elf_facts *facts)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debugaltlink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	size_t len, id_len;

	if (!data)
		return 0;
	len = strnlen(data->d_buf, data->d_size);
	if (len == 0 || len >= PATH_MAX || len == data->d_size)
		return 0;
	id_len = data->d_size - len - 1;
	if (id_len < 2 || id_len > ELF_MAX_BUILD_ID)
		return 0;
	memcpy(facts->alt_id.bytes, (const char *)data->d_buf + len + 1, id_len);
	facts->alt_id.len = (uint8_t)id_len;
	facts->alt = strdup(data->d_buf);
	return facts->alt ? 0 : -ENOMEM;
}

static int copy_loads(const struct elf_image *image, struct elf_facts *facts)
{
	size_t n;
	const struct elf_load *loads = elf_image_loads(image, &n);
	int r = vec_reserve(&facts->loads, n);

	for (size_t i = 0; r == 0 && i < n; i++)
		facts->loads.data[facts->loads.len++] = loads[i];
	return r;
}

int elf_survey(const struct elf_image *image, struct elf_facts *ret_facts)
{
	struct elf_facts facts = { .stamp = *elf_image_stamp(image) };
	GElf_Ehdr header;
	int r;

	if (gelf_getehdr(elf_image_elf(image), &header)) {
		facts.machine = header.e_machine;
		facts.class = header.e_ident[EI_CLASS];
	}
	facts.has_dwarf = elf_image_has_dwarf(image);
	facts.has_symtab = elf_image_section(image, NULL, SHT_SYMTAB) != NULL;
	r = read_debuglink(image, &facts);
	if (r == 0)
		r = read_altlink(image, &facts);
	if (r == 0)
		r = copy_loads(image, &facts);
	if (r < 0)
		elf_facts_done(&facts);
	else
		*ret_facts = facts;
	return r;
}

/* Reading takes about a second per 2 GiB. */
#define MAX_CRC_FILE_BYTES (2LL << 30)

int file_crc(int fd, uint32_t *ret_crc)
{
	static const size_t chunk = 64 << 10;
	_cleanup_free_ uint8_t *buf = malloc(chunk);
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	if (fstat(fd, &st) < 0 || st.st_size > MAX_CRC_FILE_BYTES)
		return -EFBIG;
	while (at < st.st_size) {
		n = pread(fd, buf, chunk, at);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}
