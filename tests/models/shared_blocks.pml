/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a process shares with forked children: bpf/block.bpf.h and trace/live/cuts/block_walk.c, all
 * interleavings of one address. docs/hacking/accounting.md has the argument in words.
 *
 * The owner frees block 1, is given block 2 at the same address, forks again and frees that. Before, a
 * realloc of block 1 may fail, which removes the block and puts it back. Child 1 holds block 1, child
 * 2 block 2. Each child looks its block up once, at any time; a report walks the table and then the
 * tombs, at any time. A block has two words, so that a copy can be torn.
 *
 * REMOVE_FIRST: the tomb is added after the block was removed. NO_MERGE: a block that is seen in the
 * table and in a tomb is told twice. With each of them the checker must find a fault.
 */
#define FREE_WAY 0
#define BUSY 9
#define KEY 1
#define N_BLOCKS 3 /* from 1 */

byte way_key = KEY;
byte word[2] = 1; /* the block's number, twice */
bool tomb[N_BLOCKS];
byte era = 1; /* forks of the owner; block n is of era n - 1, and held by child n */

/* The way of another thread is not claimed: there is none that frees the same address. */
inline add_tomb(n)
{
	if
	:: era >= n -> tomb[n] = true
	:: else
	fi
}

inline remove_way()
{
	way_key = BUSY;
	way_key = FREE_WAY
}

inline insert_way(n)
{
	way_key = BUSY;
	word[0] = n;
	word[1] = n;
	way_key = KEY
}

inline free_block(n)
{
#ifdef REMOVE_FIRST
	remove_way();
	add_tomb(n)
#else
	add_tomb(n);
	remove_way()
#endif
}

/* found: the key was there before and after the copy. */
inline read_way(found, a, b)
{
	found = (way_key == KEY);
	if
	:: found ->
		a = word[0];
		b = word[1];
		found = (way_key == KEY)
	:: else
	fi
}

proctype child(byte n)
{
	bool found;
	byte a, b;

	read_way(found, a, b);
	/* The era is of the second word: blocks of later eras are none of this child's. */
	found = found && b <= n;
	if
	:: tomb[n] -> found = true; a = n; b = n
	:: else
	fi;
	assert(found && a == n && b == n)
}

/* What a report tells of child n. */
inline told(n)
{
	count = 0;
	if
	:: found && b <= n ->
		count++;
#ifdef NO_MERGE
		assert(a == n && b == n);
#else
		/* The tomb's copy is used where there is one of the same era. */
		assert(seen[b] || (a == n && b == n));
		if
		:: b == n && seen[n] -> count--
		:: else
		fi;
#endif
	:: else
	fi;
	if
	:: seen[n] -> count++
	:: else
	fi;
	assert(count == 1)
}

proctype report()
{
	bool found, seen[N_BLOCKS], second_known = (era >= 2);
	byte a, b, count;

	read_way(found, a, b);
	seen[1] = tomb[1];
	seen[2] = tomb[2];
	told(1);
	/* A child that is forked during the walk is not on its list. */
	if
	:: second_known -> told(2)
	:: else
	fi
}

init
{
	run child(1);
	run report();
	if
	:: true -> /* a realloc that fails */
		free_block(1);
		insert_way(1)
	:: true
	fi;
	free_block(1);
	insert_way(2);
	era = 2;
	run child(2);
	run report();
	free_block(2)
}
