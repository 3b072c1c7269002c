/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/wrappers.h"

#include "base/glob.h"

#include <stddef.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define RUST_HASH_DIGITS 16

/* By the start of the file's name: what they call themselves is theirs alone. */
static const char *const objects[] = {
	/* C */
	"libc.so.",
	"libc-2.",
	"libc.musl-",
	"ld-linux",
	"ld-2.",
	"ld-musl-",
	"libpthread",
	"libdl.so.",
	"libdl-2.",
	"libmemtraced-sample.so", /* its calloc and others, with what is inlined there */
	/* C++ */
	"libstdc++.so",
	"libc++.so",
	"libc++abi.so",
	"libgcc_s.so",
	/* allocators */
	"libjemalloc",
	"libtcmalloc",
	"libmimalloc",
	"libtbbmalloc",
	"libsnmalloc",
	"librpmalloc",
};

/* A star stands for any text. */
static const char *const functions[] = {
	/* C++, in the program itself: templates and inlined functions */
	"std::*",
	"__gnu_cxx::*",
	"__cxxabiv1::*",
	"__cxa_allocate_*",
	"operator new*",
	/* the C library, in a static program */
	"_start",
	"strdup",
	"__strdup",
	"strndup",
	"__strndup",
	"asprintf",
	"___asprintf",
	"__asprintf*",
	"vasprintf",
	"__vasprintf*",
	"getline",
	"getdelim",
	"__getdelim",
	"_IO_getdelim",
	"fopen",
	"__fopen_internal",
	"fdopen",
	"open_memstream",
	"_IO_file_doallocate",
	"_IO_doallocbuf",
	"_IO_file_overflow",
	"opendir",
	"__alloc_dir",
	"realpath",
	"__realpath*",
	/* allocators with names of their own */
	"je_*alloc*",
	"mi_*alloc*",
	"mi_new",
	"mi_new_*",
	"tc_*alloc*",
	"tc_new",
	"tc_newarray*",
	"tc_new_*",
	"tcmalloc::*",
	/* ld --wrap */
	"__wrap_*alloc*",
	"__wrap_*memalign",
	"__wrap_str*dup",
	/* gnulib, GNU programs, Git */
	"xmalloc*",
	"xcalloc*",
	"xrealloc*",
	"xzalloc*",
	"xnmalloc",
	"xnrealloc",
	"xcharalloc",
	"xpalloc",
	"xmemdup*",
	"xstrdup*",
	"xstrndup*",
	"xasprintf",
	"xvasprintf",
	"x2realloc",
	"x2nrealloc",
	"ximalloc",
	"xicalloc",
	"xirealloc",
	"imalloc",
	"icalloc",
	"irealloc",
	"reallocarray",
	"xreallocarray",
	"rpl_malloc",
	"rpl_calloc",
	"rpl_realloc",
	"_obstack_begin*",
	"_obstack_newchunk",
	"bfd_malloc*",
	"bfd_zmalloc*",
	"bfd_realloc*",
	/* Redis */
	"zmalloc*",
	"zcalloc*",
	"zrealloc*",
	"zstrdup",
	"ztrymalloc*",
	"ztrycalloc*",
	"ztryrealloc*",
	/* GLib */
	"g_malloc*",
	"g_try_malloc*",
	"g_realloc*",
	"g_try_realloc*",
	"g_aligned_alloc*",
	"g_slice_alloc*",
	"g_slice_copy",
	"g_strdup*",
	"g_strndup",
	"g_strconcat",
	"g_vasprintf",
	"g_memdup*",
	"thread_memory_magazine*",
	"magazine_cache_*",
	"slab_allocator_*",
	/* CPython, Lua, Perl, V8 */
	"PyMem_*",
	"_PyMem_*",
	"PyObject_Malloc",
	"PyObject_Calloc",
	"PyObject_Realloc",
	"_PyObject_Malloc",
	"_PyObject_Calloc",
	"_PyObject_Realloc",
	"pymalloc_alloc",
	"l_alloc",
	"luaM_malloc_",
	"luaM_realloc_",
	"luaM_growaux_",
	"Perl_safesys*",
	"v8::internal::Malloced::*",
	/* HotSpot */
	"os::malloc*",
	"os::realloc*",
	"os::strdup*",
	"AllocateHeap*",
	"ReallocateHeap*",
	"NMTPreInit*",
	"CHeapObj*::operator new*",
	"ResourceObj::operator new*",
	"Arena::grow*",
	"Chunk::operator new*",
	"ChunkPool::allocate*",
	/* OpenSSL, SQLite, libxml2, libuv, zlib, libevent, APR, nginx, PostgreSQL */
	"CRYPTO_malloc",
	"CRYPTO_zalloc",
	"CRYPTO_realloc",
	"CRYPTO_clear_realloc",
	"CRYPTO_strdup",
	"CRYPTO_strndup",
	"CRYPTO_memdup",
	"sqlite3MemMalloc",
	"sqlite3MemRealloc",
	"sqlite3Malloc*",
	"sqlite3_malloc*",
	"sqlite3Realloc",
	"sqlite3_realloc*",
	"sqlite3DbMalloc*",
	"sqlite3DbRealloc*",
	"sqlite3DbStrDup",
	"sqlite3DbStrNDup",
	"mallocWithAlarm",
	"dbMallocRawFinish",
	"xmlStrdup",
	"xmlStrndup",
	"uv__malloc",
	"uv__calloc",
	"uv__realloc",
	"uv__strdup",
	"uv__strndup",
	"zcalloc",
	"event_mm_*",
	"apr_palloc*",
	"ngx_alloc",
	"ngx_calloc",
	"ngx_memalign",
	"ngx_palloc*",
	"ngx_pnalloc",
	"ngx_pcalloc",
	"ngx_create_pool",
	"palloc",
	"palloc0",
	"palloc_extended",
	"repalloc",
	"repalloc_huge",
	"MemoryContextAlloc*",
	"MemoryContextStrdup",
	"AllocSet*",
	"pg_malloc*",
	"pg_realloc*",
	"pg_strdup",
	"pstrdup",
	"pnstrdup",
	/* FFmpeg, Qt, LLVM, Abseil */
	"av_malloc*",
	"av_calloc",
	"av_realloc*",
	"av_strdup",
	"av_strndup",
	"av_memdup",
	"QArrayData::*",
	"QListData::*",
	"QHashData::*",
	"QMapDataBase::*",
	"llvm::safe_*alloc",
	"llvm::allocate_buffer",
	"llvm::SmallVector*",
	"absl::*container_internal::*",
};

/* Rust's, in its mangling alone: other languages have scopes of these names. */
static const char *const rust_scopes[] = {
	"alloc::", "core::", "std::", "hashbrown::", "allocator_api2::", "__rustc::",
};
static const char *const rust_functions[] = { "__rust_", "__rdl_", "__rg_" };

static bool begins_with_any(const char *text, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(text, prefixes[i]))
			return true;
	return false;
}

static bool is_rust(const char *linkage)
{
	size_t len = linkage ? strlen(linkage) : 0;
	const char *hash;

	if (!linkage || begins_with(linkage, "_R"))
		return linkage;
	if (begins_with(linkage, "__rust_") || begins_with(linkage, "__rdl_") ||
	    begins_with(linkage, "__rg_"))
		return true;
	/* "17h" and the hash, "E"; what LLVM appends comes behind it */
	for (size_t at = 0; begins_with(linkage, "_ZN") && at + 3 + RUST_HASH_DIGITS < len; at++) {
		hash = linkage + at + 3;
		if (begins_with(linkage + at, "17h") &&
		    strspn(hash, "0123456789abcdef") >= RUST_HASH_DIGITS &&
		    hash[RUST_HASH_DIGITS] == 'E')
			return true;
	}
	return false;
}

/*
 * A method is its type's, as in "<alloc::vec::Vec<T> as core::clone::Clone>::clone"; one of a type
 * without a scope ("<[T] as ...>", "<F as ...>") its trait's, or the language's ("<str>::repeat").
 */
static bool is_rust_runtime(const char *name)
{
	const char *as, *end;

	if (begins_with_any(name, rust_functions, N_ELEMENTS(rust_functions)))
		return true;
	if (*name == '<') {
		name += strspn(name, "<&*[(");
		name += begins_with(name, "mut ") ? strlen("mut ") : 0;
		as = strstr(name, " as ");
		end = name + strcspn(name, ">");
		if (as && as < end)
			end = as;
		if (!memmem(name, (size_t)(end - name), "::", 2)) {
			if (end != as)
				return true;
			name = as + strlen(" as ");
		}
	}
	return begins_with_any(name, rust_scopes, N_ELEMENTS(rust_scopes));
}

struct function_name wrappers_name(const char *function)
{
	struct function_name name = function_name_of(function);
	const char *clone = memchr(name.start, '.', name.len);

	if (clone)
		name.len = (size_t)(clone - name.start);
	return name;
}

static bool has_function(const char *function)
{
	struct function_name name = wrappers_name(function);

	for (size_t i = 0; i < N_ELEMENTS(functions); i++)
		if (functions[i][0] == *name.start &&
		    glob_match(functions[i], name.start, name.len))
			return true;
	return false;
}

bool wrappers_match(const char *pattern, const char *function)
{
	struct function_name name = wrappers_name(function);

	return glob_match(pattern, name.start, name.len);
}

static bool has_object(const char *path)
{
	const char *slash = strrchr(path, '/');

	return begins_with_any(slash ? slash + 1 : path, objects, N_ELEMENTS(objects));
}

bool wrappers_have(const char *function, const char *linkage, const char *object)
{
	if (object && has_object(object))
		return true;
	if (!function)
		return false;
	return is_rust(linkage) ? is_rust_runtime(function) : has_function(function);
}
