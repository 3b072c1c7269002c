/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/wrappers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define HASH "17h0123456789abcdefE"

static void what_allocates_for_others_is_one(void **state)
{
	static const struct {
		const char *function, *linkage, *object;
	} cases[] = {
		{ "__strdup", "__strdup", "/usr/lib/x86_64-linux-gnu/libc.so.6" },
		{ NULL, NULL, "/lib64/libc-2.28.so" },
		{ "sample_returned", NULL, "/usr/lib/memtraced/libmemtraced-sample.so" },
		{ "_dl_init", NULL, "/lib64/ld-linux-x86-64.so.2" },
		{ "operator new(unsigned long)", "_Znwm", "/usr/lib/libstdc++.so.6.0.30" },
		{ "operator new[](unsigned long)", "_Znam", "/opt/static" },
		{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int)",
		  "_ZNSt6vector", "/opt/app" },
		{ "__gnu_cxx::new_allocator<A>::allocate(unsigned long, void const*)",
		  "_ZN9__gnu_cxx", "/opt/app" },
		{ "std::__cxx11::basic_string<char>::_M_create", NULL, "/opt/app" },
		{ "alloc::vec::Vec<T,A>::push", "_ZN5alloc3vec16Vec4push" HASH, "/opt/app" },
		{ "<alloc::vec::Vec<T> as core::clone::Clone>::clone", "_ZN50_clone" HASH ".llvm.7",
		  "/opt/app" },
		{ "<[T] as alloc::slice::hack::ConvertVec>::to_vec", "_RNvXsomething", "/opt/app" },
		{ "<&mut F as core::ops::FnOnce>::call_once", "_RNvXsomething", "/opt/app" },
		{ "<str>::repeat", "_RNvXsomething", "/opt/app" },
		{ "<<alloc::boxed::Box<F> as core::ops::FnOnce>::call_once::{shim}>::f",
		  "_RNvXsomething", "/opt/app" },
		{ "__rust_alloc", "__rust_alloc", "/opt/app" },
		{ "hashbrown::raw::RawTable<T>::reserve", "_RNvsomething", "/opt/app" },
		{ "__wrap_malloc", "__wrap_malloc", "/opt/app" },
		{ "zmalloc", "zmalloc", "/opt/redis-server" },
		{ "ztrymalloc_usable_internal", NULL, "/opt/redis-server" },
		{ "xmalloc.constprop.0", "xmalloc.constprop.0", "/usr/bin/git" },
		{ "g_malloc0_n", "g_malloc0_n", "/usr/lib/libglib-2.0.so.0" },
		{ "g_strdup", "g_strdup", NULL },
		{ "je_prefix_malloc", "je_prefix_malloc", NULL },
		{ "os::malloc(unsigned long, MEMFLAGS)", "_ZN2os6mallocEm8MEMFLAGS",
		  "/opt/libjvm.so" },
		{ "CHeapObj<(MEMFLAGS)5>::operator new(unsigned long)", NULL, "/opt/libjvm.so" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		if (!wrappers_have(cases[i].function, cases[i].linkage, cases[i].object))
			fail_msg("%s is none", cases[i].function);
}

static void what_allocates_for_itself_is_none(void **state)
{
	static const struct {
		const char *function, *linkage, *object;
	} cases[] = {
		{ NULL, NULL, NULL },
		{ NULL, NULL, "/opt/app" },
		{ "", "", "" },
		{ "main", "main", "/opt/app" },
		{ "os::create_thread(Thread*)", "_ZN2os13create_threadEP6Thread",
		  "/opt/libjvm.so" },
		{ "g_list_append", "g_list_append", "/usr/lib/libglib-2.0.so.0" },
		{ "Parser::parse(std::string const&)", "_ZN6Parser5parseERKSs", "/opt/app" },
		{ "std2::f()", "_ZN4std21fEv", "/opt/app" },
		{ "standard()", "_Z8standardv", "/opt/app" },
		/* of C++, not Rust's */
		{ "core::Engine::load()", "_ZN4core6Engine4loadEv", "/opt/game" },
		{ "alloc::pool()", "_ZN5alloc4poolEv", "/opt/game" },
		{ "core::inlined", NULL, "/opt/game" },
		/* of the program, whatever trait it has */
		{ "<app::Config as core::convert::From<T>>::from", "_RNvXsomething", "/opt/app" },
		{ "<app::Config>::new", "_RNvXsomething", "/opt/app" },
		{ "<T as app::Named>::name", "_RNvXsomething", "/opt/app" },
		{ "app::main::{{closure}}", "_ZN3app4main" HASH, "/opt/app" },
		{ "app::core::alloc::f", "_RNvsomething", "/opt/app" },
		{ "f(std::vector<int>)", "_Z1f", "/opt/libc-tests" },
		{ "xml_parse", "xml_parse", "/opt/libcurl.so.4" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		if (wrappers_have(cases[i].function, cases[i].linkage, cases[i].object))
			fail_msg("%s is one", cases[i].function);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_allocates_for_others_is_one),
		cmocka_unit_test(what_allocates_for_itself_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
