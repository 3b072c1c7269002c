/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl, loaded when the first server is configured that something is pushed to: it brings 19
 * libraries more, which would be a start's dearest part for who pushes nothing.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_CURL_LIBRARY_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_CURL_LIBRARY_H

#include <curl/curl.h>

struct curl_library {
	typeof(&curl_global_init) global_init;
	typeof(&curl_easy_init) easy_init;
	typeof(&curl_easy_cleanup) easy_cleanup;
	typeof(&(curl_easy_setopt)) easy_setopt;
	typeof(&(curl_easy_getinfo)) easy_getinfo;
	typeof(&curl_easy_strerror) easy_strerror;
	typeof(&curl_slist_append) slist_append;
	typeof(&curl_slist_free_all) slist_free_all;
	typeof(&curl_multi_init) multi_init;
	typeof(&curl_multi_cleanup) multi_cleanup;
	typeof(&(curl_multi_setopt)) multi_setopt;
	typeof(&curl_multi_add_handle) multi_add_handle;
	typeof(&curl_multi_remove_handle) multi_remove_handle;
	typeof(&curl_multi_socket_action) multi_socket_action;
	typeof(&curl_multi_assign) multi_assign;
	typeof(&curl_multi_info_read) multi_info_read;
};

/* It stays loaded. 0; -ENOPKG: it is not there; -ENOMEM. */
int curl_library_load(struct curl_library *ret_curl);

#endif
