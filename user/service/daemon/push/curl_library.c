/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/curl_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* With OpenSSL, and with GnuTLS, as Debian has them. */
static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

#define SYMBOL(member, name)                                                                       \
	{                                                                                          \
		name, offsetof(struct curl_library, member)                                        \
	}

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	SYMBOL(global_init, "curl_global_init"),
	SYMBOL(easy_init, "curl_easy_init"),
	SYMBOL(easy_cleanup, "curl_easy_cleanup"),
	SYMBOL(easy_setopt, "curl_easy_setopt"),
	SYMBOL(easy_getinfo, "curl_easy_getinfo"),
	SYMBOL(easy_strerror, "curl_easy_strerror"),
	SYMBOL(slist_append, "curl_slist_append"),
	SYMBOL(slist_free_all, "curl_slist_free_all"),
	SYMBOL(multi_init, "curl_multi_init"),
	SYMBOL(multi_cleanup, "curl_multi_cleanup"),
	SYMBOL(multi_setopt, "curl_multi_setopt"),
	SYMBOL(multi_add_handle, "curl_multi_add_handle"),
	SYMBOL(multi_remove_handle, "curl_multi_remove_handle"),
	SYMBOL(multi_socket_action, "curl_multi_socket_action"),
	SYMBOL(multi_assign, "curl_multi_assign"),
	SYMBOL(multi_info_read, "curl_multi_info_read"),
};
#define N_SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))
_Static_assert(N_SYMBOLS * sizeof(void *) == sizeof(struct curl_library), "each has its row");

static bool find_symbols(void *library, struct curl_library *curl)
{
	for (size_t i = 0; i < N_SYMBOLS; i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return false;
		*(void **)((char *)curl + symbols[i].offset) = symbol;
	}
	return true;
}

int curl_library_load(struct curl_library *ret_curl)
{
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_symbols(library, ret_curl))
		return -ENOPKG;
	return ret_curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}
