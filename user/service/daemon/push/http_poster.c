/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/http_poster.h"

#include "base/clock.h"
#include "version.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>

/*
 * libcurl, loaded when the first server is configured that something is pushed to: it brings 19
 * libraries more, which would be a start's dearest part for who pushes nothing.
 */
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

/* It stays loaded. 0; -ENOPKG: it is not there; -ENOMEM. */
static int curl_library_load(struct curl_library *ret_curl)
{
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_symbols(library, ret_curl))
		return -ENOPKG;
	return ret_curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}

#define ANSWER_MOST (64U << 10)
#define CONNECTIONS_MOST 16L	/* that are kept open */
#define RETRY_AFTER_MOST_S 3600 /* whatever a server says */

struct http_poster {
	struct curl_library curl;
	CURLM *multi;
	struct loop *loop;
	uint64_t due_ns; /* when the library wants to be called; UINT64_MAX: not */
};

struct http_transfer {
	struct http_poster *poster;
	CURL *easy;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
	struct strbuf answer;
	bool too_long;
	void (*done)(const struct http_outcome *outcome, void *userdata);
	void *userdata;
};

/* --- the library on the loop ----------------------------------------------------------------- */

/* Errors of a transfer come by messages; others there are none but for misuse. */
static void socket_action(struct http_poster *poster, curl_socket_t fd, int events)
{
	int running;

	(void)poster->curl.multi_socket_action(poster->multi, fd, events, &running);
}

static int on_ready(int fd, uint32_t events, void *userdata)
{
	int action = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
		     (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		     (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

	socket_action(userdata, fd, action);
	return 0;
}

/* A curl_socket_callback: `socket_data` is the source that the loop has of it. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
	struct http_poster *poster = userdata;
	struct loop_source *source = NULL;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	int r = 0;

	(void)easy;
	loop_source_free(socket_data);
	if (what != CURL_POLL_REMOVE)
		r = loop_add_fd(poster->loop, fd, events, on_ready, poster, &source);
	(void)poster->curl.multi_assign(poster->multi, fd, source); /* the socket is known */
	return r < 0 ? -1 : 0;
}

/* A curl_multi_timer_callback, from which the library must not be called. */
static int on_timer(CURLM *multi, long ms, void *userdata)
{
	struct http_poster *poster = userdata;

	(void)multi;
	poster->due_ns = ms < 0 ? UINT64_MAX : clock_monotonic_ns() + (uint64_t)ms * MS_NS;
	return 0;
}

int http_poster_new(struct loop *loop, struct http_poster **ret_poster)
{
	_cleanup_(http_poster_free_p) struct http_poster *poster = calloc(1, sizeof(*poster));
	int r;

	if (!poster)
		return -ENOMEM;
	poster->loop = loop;
	poster->due_ns = UINT64_MAX;
	r = curl_library_load(&poster->curl);
	if (r < 0)
		return r;
	poster->multi = poster->curl.multi_init();
	if (!poster->multi ||
	    poster->curl.multi_setopt(poster->multi, CURLMOPT_SOCKETFUNCTION, on_socket) ||
	    poster->curl.multi_setopt(poster->multi, CURLMOPT_SOCKETDATA, poster) ||
	    poster->curl.multi_setopt(poster->multi, CURLMOPT_TIMERFUNCTION, on_timer) ||
	    poster->curl.multi_setopt(poster->multi, CURLMOPT_TIMERDATA, poster) ||
	    poster->curl.multi_setopt(poster->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MOST))
		return -ENOMEM;
	*ret_poster = TAKE_PTR(poster);
	return 0;
}

void http_poster_free(struct http_poster *poster)
{
	if (!poster)
		return;
	if (poster->multi)
		(void)poster->curl.multi_cleanup(poster->multi); /* there are no transfers */
	free(poster);
}

int http_poster_timeout_ms(const struct http_poster *poster)
{
	return clock_until_ms(poster->due_ns, clock_monotonic_ns());
}

/* --- one request ----------------------------------------------------------------------------- */

/* A curl_write_callback: less than everything ends the transfer. */
static size_t on_answer(char *data, size_t size, size_t n, void *userdata)
{
	struct http_transfer *transfer = userdata;
	size_t len = size * n, room = ANSWER_MOST - transfer->answer.len;

	strbuf_add(&transfer->answer, data, len < room ? len : room);
	transfer->too_long = len > room;
	return transfer->too_long ? 0 : len;
}

static void transfer_free(struct http_transfer *transfer)
{
	const struct curl_library *curl = &transfer->poster->curl;

	if (transfer->easy)
		curl->easy_cleanup(transfer->easy);
	curl->slist_free_all(transfer->headers);
	strbuf_done(&transfer->answer);
	free(transfer);
}

void http_transfer_cancel(struct http_transfer *transfer)
{
	if (!transfer)
		return;
	/* It was added. */
	(void)transfer->poster->curl.multi_remove_handle(transfer->poster->multi, transfer->easy);
	transfer_free(transfer);
}

static int add_header(struct http_transfer *transfer, const char *header)
{
	struct curl_slist *list = transfer->poster->curl.slist_append(transfer->headers, header);

	if (!list)
		return -ENOMEM;
	transfer->headers = list;
	return 0;
}

/* Without "Expect:" the library waits for a server to say that it may go on. */
static int add_headers(struct http_transfer *transfer, const struct http_post *post)
{
	int r = add_header(transfer, "Expect:");

	for (const char *const *header = post->headers; r == 0 && *header; header++)
		r = add_header(transfer, *header);
	return r;
}

/* The first that fails is told; an option fails for want of memory alone. */
static int set_access(const struct curl_library *curl, CURL *easy, const struct http_post *post)
{
	bool failed = false;

	if (post->token && post->user) {
		failed |= curl->easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		failed |= curl->easy_setopt(easy, CURLOPT_USERNAME, post->user);
		failed |= curl->easy_setopt(easy, CURLOPT_PASSWORD, post->token);
	} else if (post->token) {
		failed |= curl->easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		failed |= curl->easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, post->token);
	}
	if (post->ca_file)
		failed |= curl->easy_setopt(easy, CURLOPT_CAINFO, post->ca_file);
	return failed ? -ENOMEM : 0;
}

static int set_options(struct http_transfer *transfer, const struct http_post *post)
{
	const struct curl_library *curl = &transfer->poster->curl;
	CURL *easy = transfer->easy;
	bool failed = false;

	failed |= curl->easy_setopt(easy, CURLOPT_URL, post->url);
	failed |= curl->easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	failed |= curl->easy_setopt(easy, CURLOPT_USERAGENT, "memtraced/" MEMTRACED_VERSION);
	failed |= curl->easy_setopt(easy, CURLOPT_POST, 1L);
	failed |= curl->easy_setopt(easy, CURLOPT_POSTFIELDS, post->body);
	failed |= curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->len);
	failed |= curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(post->timeout_ns / MS_NS));
	failed |= curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	failed |= curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	failed |= curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	failed |= curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	failed |= curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	failed |= curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Before 7.87 a transfer that is given up waits for the thread that looks its name up. */
	(void)curl->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	return failed ? -ENOMEM : set_access(curl, easy, post);
}

int http_poster_begin(struct http_poster *poster, const struct http_post *post,
		      struct http_transfer **ret_transfer)
{
	struct http_transfer *transfer = calloc(1, sizeof(*transfer));
	int r;

	if (!transfer)
		return -ENOMEM;
	transfer->poster = poster;
	transfer->done = post->done;
	transfer->userdata = post->userdata;
	transfer->easy = poster->curl.easy_init();
	r = transfer->easy ? add_headers(transfer, post) : -ENOMEM;
	if (r == 0)
		r = set_options(transfer, post);
	if (r == 0 && poster->curl.multi_add_handle(poster->multi, transfer->easy) != CURLM_OK)
		r = -ENOMEM;
	if (r < 0)
		transfer_free(transfer);
	else
		*ret_transfer = transfer;
	return r;
}

/* What is too long was still answered: its status says it all. */
static void finish_transfer(struct http_transfer *transfer, CURLcode code)
{
	const struct curl_library *curl = &transfer->poster->curl;
	struct http_outcome outcome = { .answer = &transfer->answer };
	curl_off_t retry_after_s = 0;

	if (code == CURLE_OK || transfer->too_long)
		(void)curl->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &outcome.status);
	(void)curl->easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > RETRY_AFTER_MOST_S)
		retry_after_s = RETRY_AFTER_MOST_S;
	if (retry_after_s > 0)
		outcome.retry_after_ns = (uint64_t)retry_after_s * SECOND_NS;
	outcome.error = *transfer->error ? transfer->error : curl->easy_strerror(code);
	transfer->done(&outcome, transfer->userdata);
	http_transfer_cancel(transfer);
}

void http_poster_run(struct http_poster *poster)
{
	CURLMsg *message;
	int left;

	if (poster->due_ns <= clock_monotonic_ns()) {
		poster->due_ns = UINT64_MAX;
		socket_action(poster, CURL_SOCKET_TIMEOUT, 0);
	}
	while ((message = poster->curl.multi_info_read(poster->multi, &left))) {
		struct http_transfer *transfer = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)poster->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		finish_transfer(transfer, code);
	}
}
