/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A constructor that waits for a thread, which calls what nobody has called before. */
#include <new>
#include <stdlib.h>
#include <thread>

static void call_all()
{
	void *block = nullptr;

	::operator delete(::operator new(100));
	::operator delete(::operator new(100), static_cast<std::size_t>(100));
	::operator delete[](::operator new[](100));
	::operator delete[](::operator new[](100), static_cast<std::size_t>(100));
	::operator delete(::operator new(100, std::align_val_t(64)), std::align_val_t(64));
	::operator delete(::operator new(100, std::nothrow), std::nothrow);
	if (posix_memalign(&block, 64, 100))
		abort();
	free(block);
	free(aligned_alloc(64, 128));
}

__attribute__((constructor)) static void construct()
{
	std::thread thread(call_all);

	thread.join();
}
