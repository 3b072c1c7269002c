/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_file.h"

#include "sandbox/worker.h"
#include "symbol/symbol_wire.h"

#include <errno.h>
#include <fcntl.h>

static int ask_facts(struct worker *worker, int fd, struct elf_facts *ret_facts)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct wire_reader reader;
	int r;

	wire_put_u8(&request, SYMBOL_FACTS);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	reader = wire_read(&answer);
	if (!wire_get_bool(&reader) && wire_is_read(&reader))
		return -ENOEXEC;
	r = symbol_get_facts(&reader, ret_facts);
	return r == -EBADMSG ? worker_distrust(worker) : r;
}

void symbol_file_ask(struct worker *worker, int fd)
{
	_cleanup_strbuf_ struct strbuf request = {};

	wire_put_u8(&request, SYMBOL_FACTS);
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
	struct wire_reader reader;
	bool is_known;
	int r;

	wire_put_u8(&request, SYMBOL_CRC);
	r = worker_call(worker, &request, &file->fd, 1, &answer);
	if (r < 0)
		return r;
	reader = wire_read(&answer);
	is_known = wire_get_bool(&reader);
	*ret_crc = wire_get_u32(&reader);
	if (!wire_is_read(&reader))
		return worker_distrust(worker);
	return is_known ? 0 : -EIO;
}

void symbol_file_done(struct symbol_file *file)
{
	if (file->fd >= 0) {
		close(file->fd);
		elf_facts_done(&file->facts);
	}
	file->fd = -1;
}
