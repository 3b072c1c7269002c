/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every message between our processes, for the test and the fuzz program of the codec. Messages are
 * added at the end: inputs of the fuzzer begin with their place here.
 */
#ifndef MEMTRACED_TESTS_EVERY_MESSAGE_H
#define MEMTRACED_TESTS_EVERY_MESSAGE_H

#include "probe/object_wire.h"
#include "probe/plan_wire.h"
#include "sandbox/keeper_process.h"
#include "symbol/jit/jit_wire.h"
#include "symbol/symbol_wire.h"
#include "target/file_helper_process.h"
#include "target/file_open.h"

static const struct layout *const every_message[] = {
	&symbol_look_up_layout,	   &symbol_facts_layout,
	&symbol_head_layout,	   &symbol_found_layout,
	&jit_asked_layout,	   &jit_head_layout,
	&jit_message_layout,	   &object_asked_layout,
	&object_answer_layout,	   &object_key_layout,
	&object_name_layout,	   &object_ranges_layout,
	&object_near_layout,	   &plan_layout,
	&keeper_order_layout,	   &keeper_stopped_layout,
	&file_helper_order_layout, &file_helper_asked_layout,
	&file_helper_chunk_layout, &open_map_layout,
	&open_in_root_layout,
};

#define N_MESSAGES (sizeof(every_message) / sizeof(every_message[0]))

#endif
