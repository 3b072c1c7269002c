/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_file.h"

#include "sandbox/worker.h"
#include "symbol/symbol_wire.h"

#include <errno.h>
#include <fcntl.h>

static int ask_facts(struct worker *worker, int fd, struct elf_facts *ret_facts)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	int r;

	strbuf_addch(&request, SYMBOL_FACTS);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	if (answer.len == 0)
		return -ENOEXEC;
	r = codec_read_all(&answer, &symbol_facts_layout, ret_facts);
	return r == -EBADMSG ? worker_distrust(worker) : r;
}

void symbol_file_ask(struct worker *worker, int fd)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_addch(&request, SYMBOL_FACTS);
	worker_ask_ahead(worker, &request, fd);
}

int symbol_file_open(struct worker *worker, int fd, struct symbol_file *ret_file)
{
	_cleanup_close_ int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int r = own < 0 ? -ENOEXEC : ask_facts(worker, own, &ret_file->facts);

	if (r == 0)
		ret_file->fd = TAKE_FD(own);
	return r;
}

int symbol_file_crc(struct worker *worker, const struct symbol_file *file, uint32_t *ret_crc)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	int r;

	strbuf_addch(&request, SYMBOL_CRC);
	r = worker_call(worker, &request, &file->fd, 1, &answer);
	if (r < 0)
		return r;
	if (answer.len == 0)
		return -EIO;
	r = codec_read_all(&answer, &codec_u32, ret_crc);
	return r < 0 ? worker_distrust(worker) : 0;
}

void symbol_file_done(struct symbol_file *file)
{
	if (file->fd >= 0) {
		close(file->fd);
		elf_facts_done(&file->facts);
	}
	file->fd = -1;
}
