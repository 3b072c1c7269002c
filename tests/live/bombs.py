# SPDX-License-Identifier: GPL-2.0-or-later
"""ELF files that take long to read: each has something small that a naive reader goes through again
and again. Made from nothing, for x86-64, with one segment that may be mapped as code."""

import struct

MIB = 1 << 20
SYMBOLS = 400_000

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_DYNSYM = 1, 2, 3, 4, 7, 11
SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800
ELFCOMPRESS_ZSTD = 2
PT_LOAD = 1
STT_FUNC = 2
BASE = 0x400000
HEAD = 4096  # bytes before the first section


def symbol(name, value=0, size=16, kind=STT_FUNC, section=1):
    return struct.pack("<IBBHQQ", name, 0x10 | kind, 0, section, value, size)


def symbols(names, values):
    """Their table; the first entry is always empty."""
    return bytes(24) + b"".join(symbol(name, value) for name, value in zip(names, values))


class Elf:
    """Sections, laid out one behind the other; all of the file is one executable segment."""

    def __init__(self):
        self.sections = []
        self.add(".text", SHT_PROGBITS, b"\x90" * 64 + b"\xc3", flags=SHF_ALLOC | SHF_EXECINSTR)

    def add(self, name, kind, data, link=0, entsize=0, flags=0, address=None):
        """Its number. Where `data` is another's number, it has the same bytes."""
        self.sections.append([name, kind, data, link, entsize, flags, address])
        return len(self.sections)

    def add_symbols(self, table, names):
        strings = self.add(".strtab", SHT_STRTAB, names)
        return self.add(".symtab", SHT_SYMTAB, table, link=strings, entsize=24)

    def address(self, number):
        """Of a section's bytes, once all of the sections before it have been added."""
        return BASE + self.place(number)

    def place(self, number):
        at = HEAD
        for _, _, data, *_ in self.sections[:number - 1]:
            at += 0 if isinstance(data, int) else (len(data) + 15) // 16 * 16
        return at

    def pack(self, section_names=None):
        names, offsets = bytearray(b"\0"), []
        for section in self.sections:
            offsets.append(len(names))
            names += section[0].encode() + b"\0"
        offsets.append(len(names))
        names += b".shstrtab\0"
        if section_names is not None:
            names, offsets = section_names
        body, headers = bytearray(HEAD), [bytes(64)]
        places = []
        for index, (_, kind, data, link, entsize, flags, address) in enumerate(self.sections):
            if isinstance(data, int):
                at, size = places[data - 1]
            else:
                at, size = len(body), len(data)
                body += data + bytes(-len(data) % 16)
            places.append((at, size))
            headers.append(struct.pack("<IIQQQQIIQQ", offsets[index], kind, flags,
                                       BASE + at if address is None else address, at, size, link,
                                       0, 8, entsize))
        headers.append(struct.pack("<IIQQQQIIQQ", offsets[-1], SHT_STRTAB, 0, 0, len(body),
                                   len(names), 0, 0, 1, 0))
        body += names + bytes(-len(names) % 16)
        tables = len(body)
        body += b"".join(headers)
        segment = struct.pack("<IIQQQQQQ", PT_LOAD, 5, 0, BASE, BASE, len(body), len(body), 4096)
        head = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 3, 62, 1, BASE + HEAD,
                           64, tables, 0, 64, 56, 1, 64, len(headers),
                           len(headers) - 1)
        body[:len(head)] = head
        body[64:64 + len(segment)] = segment
        return bytes(body)


# --- names ---------------------------------------------------------------------------------------

def names_without_end():
    """Of each name its end is looked for, through the whole table."""
    elf = Elf()
    text = elf.address(1)
    elf.add_symbols(symbols(range(1, SYMBOLS + 1), [text] * SYMBOLS), b"A" * (16 * MIB))
    return elf.pack()


def names_of_megabytes():
    """Each symbol's name is most of the table."""
    elf = Elf()
    elf.add_symbols(symbols(range(1, SYMBOLS + 1), [elf.address(1)] * SYMBOLS),
                    b"_" * (16 * MIB) + b"\0")
    return elf.pack()


def dynamic_names_without_end():
    """As names_without_end(), of the relocations of imported functions."""
    elf = Elf()
    strings = elf.add(".dynstr", SHT_STRTAB, b"A" * (16 * MIB))
    table = elf.add(".dynsym", SHT_DYNSYM,
                    bytes(24) + b"".join(symbol(name, section=0) for name in range(1, 1001)),
                    link=strings, entsize=24)
    relocations = b"".join(struct.pack("<QQq", BASE + 8 * i, (1 + i % 1000) << 32 | 7, 0)
                           for i in range(SYMBOLS))
    elf.add(".rela.plt", SHT_RELA, relocations, link=table, entsize=24, flags=SHF_ALLOC)
    return elf.pack()


def section_names_without_end():
    elf = Elf()
    for _ in range(60_000):
        elf.add("", SHT_PROGBITS, b"")
    names = b"A" * (15 * MIB)
    return elf.pack((names, [i * 16 + 1 for i in range(len(elf.sections) + 1)]))


# --- code ----------------------------------------------------------------------------------------

def allocators_everywhere():
    """A thousand functions named malloc, each with all of the code behind it."""
    elf = Elf()
    # je over nothing: both ways go on
    code = b"\x74\x00" * 20_000 + b"\xc3"
    number = elf.add(".code", SHT_PROGBITS, code, flags=SHF_ALLOC | SHF_EXECINSTR)
    start = elf.address(number)
    elf.add_symbols(symbols([1] * 1000, range(start, start + 2000, 2)), b"\0malloc\0")
    return elf.pack()


def imports_by_the_thousand():
    """Each jump is to a name that is looked for among all symbols."""
    elf = Elf()
    # jne over a jump through a pointer: both are ways out of it
    n = 4_000
    slots = elf.add(".got", SHT_PROGBITS, bytes(8 * n))
    slots_at = elf.address(slots)
    code_number = elf.add(".code", SHT_PROGBITS, bytes(8 * n + 1),
                          flags=SHF_ALLOC | SHF_EXECINSTR)
    at = elf.address(code_number)
    code = bytearray()
    for i in range(n):
        here = at + len(code)
        code += b"\x75\x06\xff\x25" + struct.pack("<i", slots_at + 8 * i - here - 8)
    elf.sections[code_number - 1][2] = bytes(code + b"\xc3")
    names, offsets = bytearray(b"\0malloc\0"), []
    for i in range(n):
        offsets.append(len(names))
        names += b"import_%d\0" % i
    strings = elf.add(".dynstr", SHT_STRTAB, bytes(names))
    table = elf.add(".dynsym", SHT_DYNSYM,
                    bytes(24) + b"".join(symbol(offset, section=0) for offset in offsets),
                    link=strings, entsize=24)
    elf.add(".rela.plt", SHT_RELA,
            b"".join(struct.pack("<QQq", slots_at + 8 * i, (1 + i) << 32 | 7, 0)
                     for i in range(n)), link=table, entsize=24, flags=SHF_ALLOC)
    others = b"\0malloc\0import_x\0"
    elf.add_symbols(symbols([1] + [8] * SYMBOLS, [at] + [elf.address(1)] * SYMBOLS), others)
    return elf.pack()


# --- unwinding information -----------------------------------------------------------------------

def entry(body):
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def cie(letters, program):
    head = struct.pack("<IB", 0, 1) + letters + b"\0" + b"\x01\x78\x10"
    return entry(head + (b"\x01\x00" if letters.startswith(b"z") else b"") + program)


def frames(elf, cies, n, program=b""):
    """An .eh_frame: these CIEs, and FDEs that are of them by turns, of a byte of code each."""
    number = elf.add(".code", SHT_PROGBITS, b"\x90" * n, flags=SHF_ALLOC | SHF_EXECINSTR)
    code, data, starts = elf.address(number), bytearray(), []
    for one in cies:
        starts.append(len(data))
        data += one
    for i in range(n):
        body = struct.pack("<QQ", code + i, 1)
        body += (b"\0" if cies[i % len(cies)][9:10] == b"z" else b"") + program
        data += entry(struct.pack("<I", len(data) + 4 - starts[i % len(cies)]) + body)
    elf.add(".eh_frame", SHT_PROGBITS, bytes(data + bytes(4)), flags=SHF_ALLOC)
    return elf.pack()


def long_augmentation():
    return frames(Elf(), [cie(b"z" + b"S" * (8 * MIB), b"")], SYMBOLS)


def long_initial_programs():
    """Two by turns, so that each is run each time. 0x0c: DW_CFA_def_cfa."""
    one = cie(b"zR", b"\x0c\x07\x08" * MIB)
    return frames(Elf(), [one, one], SYMBOLS)


def long_expressions():
    """One holds for many rows. 0x0f: DW_CFA_def_cfa_expression, 0x41: an advance of 1."""
    elf = Elf()
    number = elf.add(".code", SHT_PROGBITS, b"\x90" * (4 * MIB), flags=SHF_ALLOC | SHF_EXECINSTR)
    length = 4 * MIB
    expression = b"\x77\x00" + b"\x23\x01" * ((length - 2) // 2)  # DW_OP_breg7, plus_uconst
    leb = bytes([length & 127 | 128, length >> 7 & 127 | 128, length >> 14 & 127 | 128,
                 length >> 21])
    data = bytearray(cie(b"zR", b"\x0c\x07\x08\x90\x01"))
    program = b"\0" + b"\x0f" + leb + expression + b"\x41" * (4 * MIB - 1)
    data += entry(struct.pack("<IQQ", len(data) + 4, elf.address(number), 4 * MIB) + program)
    elf.add(".eh_frame", SHT_PROGBITS, bytes(data + bytes(4)), flags=SHF_ALLOC)
    return elf.pack()


def notes_again_and_again():
    """Sections of notes that are all the same bytes."""
    elf = Elf()
    notes = struct.pack("<III4s", 4, 0, 1, b"abc\0") * MIB
    number = elf.add(".notes", SHT_NOTE, notes)
    for _ in range(60_000):
        elf.add(".notes", SHT_NOTE, number)
    return elf.pack()


# Of what is read when a process maps it.
MAPPED = {function.__name__: function for function in (
    names_without_end, names_of_megabytes, dynamic_names_without_end, section_names_without_end,
    allocators_everywhere, imports_by_the_thousand, long_augmentation,
    long_initial_programs, long_expressions, notes_again_and_again)}


# --- programs ------------------------------------------------------------------------------------

def with_sections(program, sections):
    """A program that runs as before, with sections (name, type, data, entsize and maybe flags)
    behind, each linked to the next one. Its own symbols and debug information are not seen any
    more."""
    body = bytearray(program) + bytes(-len(program) % 16)
    table, = struct.unpack_from("<Q", body, 40)
    count, names_index = struct.unpack_from("<HH", body, 60)
    headers = [bytearray(body[table + 64 * i:table + 64 * (i + 1)]) for i in range(count)]
    at, size = struct.unpack_from("<QQ", headers[names_index], 24)
    names = bytearray(body[at:at + size])
    for header in headers:
        name, kind = struct.unpack_from("<II", header)
        if kind == SHT_SYMTAB or names.startswith(b".debug_", name):
            struct.pack_into("<II", header, 0, 0, SHT_PROGBITS)
    for name, kind, data, entsize, *flags in sections:
        headers.append(bytearray(struct.pack("<IIQQQQIIQQ", len(names), kind, sum(flags), 0,
                                             len(body), len(data), len(headers) + 1, 0, 1,
                                             entsize)))
        names += name.encode() + b"\0"
        body += data + bytes(-len(data) % 16)
    struct.pack_into("<QQ", headers[names_index], 24, len(body), len(names))
    body += names + bytes(-len(names) % 16)
    struct.pack_into("<Q", body, 40, len(body))
    struct.pack_into("<H", body, 60, len(headers))
    return bytes(body + b"".join(headers))


def code_of(program):
    """Address and number of .text."""
    table, = struct.unpack_from("<Q", program, 40)
    for number in range(struct.unpack_from("<H", program, 60)[0]):
        _, kind, flags, address, _, size = struct.unpack_from("<IIQQQQ", program,
                                                              table + 64 * number)
        if kind == SHT_PROGBITS and flags & SHF_EXECINSTR and size > 1000:
            return address, number
    raise AssertionError("no .text")


def many_symbols(program):
    """As a large program, which takes its time and is read whole: functions at places and with
    names of their own."""
    address, section = code_of(program)
    names, offsets = bytearray(b"\0"), []
    for i in range(SYMBOLS):
        offsets.append(len(names))
        names += b"function_%d\0" % i
    table = bytes(24) + b"".join(symbol(name, address + i, size=1, section=section)
                                 for i, name in enumerate(offsets))
    return with_sections(program, [(".symtab", SHT_SYMTAB, table, 24),
                                   (".strtab", SHT_STRTAB, bytes(names), 0)])


def symbols_of_megabytes(program):
    """As names_of_megabytes(), all at one address, so that they are compared."""
    address, section = code_of(program)
    table = bytes(24) + b"".join(symbol(name, address, section=section)
                                 for name in range(1, SYMBOLS + 1))
    return with_sections(program, [(".symtab", SHT_SYMTAB, table, 24),
                                   (".strtab", SHT_STRTAB, b"_" * (16 * MIB) + b"\0", 0)])


def unit(attributes):
    """Of DWARF 4, with one entry that has no children: the abbreviation's number, attributes."""
    body = struct.pack("<HIB", 4, 0, 8) + attributes
    return struct.pack("<I", len(body)) + body


def leb(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def abbreviation(number):
    """DW_TAG_compile_unit: DW_AT_low_pc (an address), DW_AT_ranges (an offset)."""
    return leb(number) + b"\x11\0\x11\x01\x55\x17\0\0"


def ranges_of_all(program):
    """A hundred thousand compilation units, each with the same million ranges."""
    address, _ = code_of(program)
    ranges = b"".join(struct.pack("<QQ", i, i + 1) for i in range(1, MIB)) + bytes(16)
    return with_sections(program, [
        (".debug_info", SHT_PROGBITS, unit(b"\x01" + struct.pack("<QI", address, 0)) * 100_000, 0),
        (".debug_abbrev", SHT_PROGBITS, abbreviation(1) + b"\0", 0),
        (".debug_ranges", SHT_PROGBITS, ranges, 0)])


def abbreviations_of_all(program):
    """As many, each of which looks for the last one of a million abbreviations."""
    address, _ = code_of(program)
    attributes = leb(MIB) + struct.pack("<QI", address, 0)
    return with_sections(program, [
        (".debug_info", SHT_PROGBITS, unit(attributes) * 100_000, 0),
        (".debug_abbrev", SHT_PROGBITS,
         b"".join(abbreviation(number) for number in range(1, MIB + 1)) + b"\0", 0),
        (".debug_ranges", SHT_PROGBITS, struct.pack("<QQQQ", 0, 1, 0, 0), 0)])


def zstd_of_zeros(size, claimed_size):
    """A compressed section: one frame with blocks of 128 KiB, 4 bytes each."""
    block, count = 128 << 10, size // (128 << 10)
    repeated = [struct.pack("<I", int(i == count - 1) | 1 << 1 | block << 3)[:3] + b"\0"
                for i in range(count)]
    return struct.pack("<IIQQ", ELFCOMPRESS_ZSTD, 0, claimed_size, 1) + \
        struct.pack("<IBB", 0xFD2FB528, 0, 0x38) + b"".join(repeated)


def with_zstd(program, size, claimed_size):
    return with_sections(program, [(name, SHT_PROGBITS, zstd_of_zeros(size, claimed_size), 0,
                                    SHF_COMPRESSED)
                                   for name in (".debug_info", ".debug_abbrev", ".debug_frame")])


def zstd_of_gigabytes(program):
    """Debug information that is 30,000 times as long uncompressed."""
    return with_zstd(program, 2048 * MIB, 2048 * MIB)


def zstd_longer_than_it_says(program):
    return with_zstd(program, 2048 * MIB, MIB)


# Of what is read when a place in the program gets its name.
NAMED = {function.__name__: function for function in (
    symbols_of_megabytes, ranges_of_all, zstd_of_gigabytes, zstd_longer_than_it_says)}
