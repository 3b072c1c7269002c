/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/insn.h"

#include "probe/insn_machine.h"
#include "probe/insn_types.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

struct machine {
	uint16_t machine; /* e_machine */
	cs_arch arch;
	cs_mode mode;
	void (*classify)(const cs_insn *cs, struct insn *insn);
	/* Of an instruction that capstone does not know: whether all that matters is clear. NULL:
	 * it never is. */
	bool (*classify_unknown)(const uint8_t *bytes, size_t len, struct insn *insn);
	void (*effect)(const cs_insn *cs, struct insn_effect *effect); /* NULL: not known */
	/* NULL: its stubs are one jump, perhaps behind a landing pad. */
	bool (*stub_slot)(const uint8_t *bytes, size_t len, uint64_t addr, uint64_t *ret_slot);
};

static const struct machine machines[] = {
	{ EM_X86_64, CS_ARCH_X86, CS_MODE_64, insn_classify_x86, NULL, insn_effect_x86, NULL },
	{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, insn_classify_arm64,
	  insn_classify_unknown_arm64, NULL, insn_stub_slot_arm64 },
};

struct insn_decoder {
	const struct machine *machine;
	csh handle;
	cs_insn *insn; /* capstone's buffer for one instruction */
};

static const struct machine *machine_find(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

int insn_decoder_new(uint16_t machine, struct insn_decoder **ret_decoder)
{
	_cleanup_(insn_decoder_free_p) struct insn_decoder *decoder = NULL;
	const struct machine *m = machine_find(machine);

	if (!m)
		return -EOPNOTSUPP;
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	decoder->machine = m;
	if (cs_open(m->arch, m->mode, &decoder->handle) != CS_ERR_OK)
		return -ENOMEM;
	if (cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		return -EOPNOTSUPP;
	decoder->insn = cs_malloc(decoder->handle);
	if (!decoder->insn)
		return -ENOMEM;
	*ret_decoder = TAKE_PTR(decoder);
	return 0;
}

void insn_decoder_free(struct insn_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	if (decoder->handle)
		cs_close(&decoder->handle);
	free(decoder);
}

int insn_decode(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		struct insn *ret_insn)
{
	struct insn insn = { .addr = addr };
	uint64_t at = addr;

	if (cs_disasm_iter(decoder->handle, &bytes, &len, &at, decoder->insn)) {
		insn.len = (uint8_t)decoder->insn->size;
		decoder->machine->classify(decoder->insn, &insn);
	} else if (!decoder->machine->classify_unknown ||
		   !decoder->machine->classify_unknown(bytes, len, &insn)) {
		return -EILSEQ;
	}
	*ret_insn = insn;
	return 0;
}

void insn_effect(const struct insn_decoder *decoder, struct insn_effect *ret_effect)
{
	struct insn_effect effect = {
		.kind = EFFECT_UNKNOWN,
		.base = INSN_NO_REG,
		.to = INSN_NO_REG,
		.from = INSN_NO_REG,
		.tested = INSN_NO_REG,
		.condition = INSN_NO_CONDITION,
	};

	if (decoder->machine->effect)
		decoder->machine->effect(decoder->insn, &effect);
	*ret_effect = effect;
}

bool insn_is_emulated(const struct insn *insn, const struct plan_emulation *emulation)
{
	switch (insn->class) {
	case INSN_CLASS_PUSH:
		return emulation->push;
	case INSN_CLASS_NOP1:
		return emulation->nop1;
	case INSN_CLASS_NOPL:
		return emulation->nopl;
	case INSN_CLASS_ENDBR:
		return emulation->endbr;
	case INSN_CLASS_JMP:
		return emulation->jmp;
	case INSN_CLASS_JCC:
		return emulation->jcc;
	case INSN_CLASS_CALL:
		return emulation->call;
	case INSN_CLASS_RET:
		return emulation->ret;
	case INSN_CLASS_SUB_SP:
		return emulation->sub_sp;
	case INSN_CLASS_MOV:
		return emulation->mov;
	case INSN_CLASS_ADR:
		return emulation->adr;
	case INSN_OTHER:
		break;
	}
	return false;
}

bool insn_stub_slot(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		    uint64_t *ret_slot)
{
	struct insn insn;

	if (decoder->machine->stub_slot)
		return decoder->machine->stub_slot(bytes, len, addr, ret_slot);
	if (insn_decode(decoder, bytes, len, addr, &insn) < 0)
		return false;
	if (insn.class == INSN_CLASS_ENDBR &&
	    insn_decode(decoder, bytes + insn.len, len - insn.len, addr + insn.len, &insn) < 0)
		return false;
	if (insn.flow != INSN_JUMP || insn.target_kind != INSN_TARGET_SLOT)
		return false;
	*ret_slot = insn.target;
	return true;
}
