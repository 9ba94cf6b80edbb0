/*
 * Where things lie inside the structures of one Python version and build. Versions up to 3.12 have a generated table
 * (layout_3_7.c ...), later ones describe themselves (debug_offsets.c fills the same struct from the target and checks
 * every field). Code above never asks for a version number; it asks whether a field exists and what kind of thing it
 * is.
 */
#ifndef DT_PYTHON_LAYOUT_H
#define DT_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define DT_ABSENT UINT32_MAX

/* Of thread.state. */
#define DT_THREAD_ATTACHED 1

enum dt_ip_kind {
	DT_IP_LASTI_BYTES, /* up to 3.9: int, byte offset of the last instruction */
	DT_IP_LASTI_UNITS, /* 3.10: int, in units of two bytes */
	DT_IP_PREV_INSTR,  /* 3.11, 3.12: address of the last instruction unit that was begun */
	DT_IP_INSTR_PTR,   /* 3.13+: address of the current instruction */
};

enum dt_line_kind {
	DT_LINES_LNOTAB,          /* 3.6 to 3.9 */
	DT_LINES_LINETABLE,       /* 3.10 */
	DT_LINES_LOCATIONS,       /* 3.11+ */
	DT_LINES_LNOTAB_UNSIGNED, /* 2.7: its lines never go back */
};

enum dt_gil_place {
	DT_GIL_IN_VARIABLES, /* there is no runtime, but variables (struct dt_variables) of the library (2.7, 3.6) */
	DT_GIL_IN_RUNTIME,   /* one, embedded in the runtime at runtime.gil (3.7 to 3.11) */
	DT_GIL_BY_POINTER,   /* interpreter.gil holds a pointer to it (3.12+) */
};

/* Where the attributes of an instance of an ordinary class are. */
enum dt_instance_kind {
	DT_INSTANCE_DICT, /* up to 3.10: a dict pointer at tp_dictoffset, nothing else */
	DT_INSTANCE_TWO,  /* 3.11: a values pointer and a dict pointer before the object, one of them or none is set */
	DT_INSTANCE_TAGGED, /* 3.12: one pointer before the object, to values if its tag bit is set, else to a dict */
	DT_INSTANCE_INLINE, /* 3.13+: values behind the object, used while valid, and a dict pointer before it */
};

struct dt_layout {
	uint8_t major, minor;
	uint8_t last_micro; /* of the releases that are laid out like this; 0: all of them, or those after another
			       table's */
	bool free_threaded;
	enum dt_ip_kind ip_kind;
	enum dt_line_kind line_kind;
	enum dt_gil_place gil_place;
	bool mangled_thread_name; /* a Thread has its name as _Thread__name (2.7), not as _name */
	bool traced_refs;         /* all objects are in a list, for which each has two words more (up to 3.12) */

	struct { /* DT_GIL_IN_VARIABLES: the variable that heads the list of interpreters stands for the runtime */
		uint32_t size; /* up to 3.12 of the patch version it was made from: others differ by a few bytes */
		uint32_t interpreters_head;
		uint32_t finalizing;
		uint32_t main_thread;      /* ident of the thread that began the runtime; DT_ABSENT where unknown */
		uint32_t gil;              /* DT_GIL_IN_RUNTIME only */
		uint32_t tstate_current;   /* up to 3.11, else DT_ABSENT */
		uint32_t auto_interpreter; /* pointer to the main interpreter, behind the GIL; likewise */
		uint32_t gc_collecting;    /* 3.7, 3.8, else DT_ABSENT */
	} runtime;
	struct {
		uint32_t size; /* likewise */
		uint32_t id;   /* int64_t; DT_ABSENT before 3.7 */
		uint32_t next, threads_head;
		uint32_t gil;     /* pointer to the GIL in use (3.12+) */
		uint32_t modules; /* dict of imported modules */
		uint32_t sysdict;
		uint32_t gc_collecting;   /* int; DT_ABSENT before 3.9 */
		uint32_t threads_main;    /* pointer to the main thread's state, 3.14+, else DT_ABSENT */
		uint32_t code_generation; /* uint64_t, 3.14+, else DT_ABSENT: goes on whenever a code object ends */
	} interpreter;
	struct {                      /* relative to the GIL's own struct; DT_ABSENT where it has none */
		uint32_t size;        /* of all of it: a futex address within is a wait for the GIL; 2.7: of its lock */
		uint32_t last_holder; /* pointer to a thread state */
		uint32_t locked;      /* int */
		uint32_t switch_number; /* unsigned long */
		uint32_t enabled;       /* int, free-threaded builds: 0 while nobody needs it; else DT_ABSENT */
	} gil;
	struct {
		uint32_t size;
		uint32_t prev; /* DT_ABSENT in 2.7 */
		uint32_t next, interp;
		uint32_t frame; /* pointer to the innermost frame (up to 3.10 PyFrameObject, 3.13+ interpreter frame) */
		uint32_t cframe;     /* 3.11, 3.12: pointer to a struct that holds it, else DT_ABSENT */
		uint32_t base_frame; /* 3.15+ */
		uint32_t thread_id;
		uint32_t native_thread_id; /* 3.11+ */
		uint32_t datastack_chunk;  /* 3.11+ */
		uint32_t status;           /* bit field, 3.12+ */
		uint32_t holds_gil;        /* int, 3.14+ */
		uint32_t state;            /* int, 3.13+: DT_THREAD_ATTACHED while its thread may run Python */
	} thread;
	struct { /* 3.11, 3.12 */
		uint32_t size, current_frame, previous;
	} cframe;
	struct {
		uint32_t size;       /* of the fixed part: up to the first local variable */
		uint32_t previous;   /* f_back up to 3.10 */
		uint32_t code;       /* pointer, tagged where code_tag_mask != 0 */
		uint32_t ip;         /* see ip_kind */
		uint32_t owner;      /* one byte; DT_ABSENT before 3.11 */
		uint32_t is_entry;   /* one byte, 3.11 only */
		uint32_t stacktop;   /* DT_ABSENT where not needed */
		uint32_t tlbc_index; /* int, free-threaded 3.14+ */
		uint64_t code_tag_mask;
		uint8_t owner_generator;
		uint8_t owner_frame_object;
		uint8_t owner_shim_min; /* owner >= this: not a Python frame but the mark of an entry from C (3.12+);
					   255: none */
	} frame;
	struct {
		uint32_t size;                     /* fixed part */
		uint32_t filename, name, qualname; /* qualname DT_ABSENT before 3.11 */
		uint32_t linetable;                /* co_lnotab up to 3.9 */
		uint32_t firstlineno;
		uint32_t flags;          /* int; DT_ABSENT from 3.13 on */
		uint32_t firsttraceable; /* int, 3.11+, in code units; DT_ABSENT before */
		uint32_t bytecode;       /* 3.11+: co_code_adaptive inside the code object; before: pointer to bytes */
		uint32_t tlbc;           /* free-threaded 3.14+: pointer to {size, copies of the bytecode} */
		uint32_t units;          /* 3.11+: how many code units it has (two bytes each) */
		uint32_t version;        /* uint32_t, 3.12+: no other code object has or had the same, unless it is 0 */
	} code;
	struct {
		uint32_t size, ob_type;
	} object;
	struct {
		uint32_t size, name, flags, dictoffset, basicsize; /* flags: unsigned long */
		uint32_t cached_keys; /* of heap types: PyDictKeysObject that the class's instances share, or NULL */
		uint64_t heap_flag;   /* in flags: a class made by Python code */
		uint64_t unicode_flag, bytes_flag, tuple_flag, dict_flag, integer_flag; /* in flags: a subclass of */
		uint64_t plain_integer_flag; /* 2.7: of the int that is no long; else 0 */
	} type;
	struct {
		uint32_t ob_size, ob_sval;
	} bytes;
	struct { /* 2.7 has text in bytes as a rule; its unicode objects have none of what follows width */
		uint32_t length;
		uint32_t data, width; /* 2.7: a pointer to the characters, of so many bytes each; else DT_ABSENT */
		uint32_t state, ascii_size, compact_size;
		uint32_t kind_shift, compact_bit, ascii_bit; /* within state */
	} unicode;
	struct {
		uint32_t ob_size, ob_item;
	} tuple;
	struct {
		uint32_t keys, values; /* of PyDictObject; values is NULL unless the table is split */
		uint32_t table, mask;  /* 2.7: a pointer to the entries, some unused, and their number - 1; no keys */
	} dict;
	/* PyDictKeysObject: a head, then `size` indices of 1, 2, 4 or 8 bytes, then the entries in order of insertion.
	 * Where log2_index_bytes is absent (up to 3.10) an index has 1 byte up to a size of 0xff, 2 up to 0xffff, 4 up
	 * to 0xffffffff, else 8. */
	struct {
		uint32_t size;             /* Py_ssize_t, up to 3.10, else DT_ABSENT */
		uint32_t log2_size;        /* one byte, 3.11+, else DT_ABSENT */
		uint32_t log2_index_bytes; /* one byte, 3.11+: of all indices together, else DT_ABSENT */
		uint32_t kind;             /* one byte, 3.11+; DT_ABSENT: every entry is a general one */
		uint32_t nentries;         /* Py_ssize_t: entries in use, deleted ones (key or value NULL) included */
		uint32_t indices;          /* where the indices begin: size of the head */
		uint32_t entry_size, entry_key, entry_value;    /* general entries: hash, key, value */
		uint32_t text_entry_size, text_key, text_value; /* entries of kinds other than kind_general */
		uint8_t kind_general, kind_text, kind_split;    /* values of the kind byte */
	} dictkeys;
	struct { /* PyDictValues: what ma_values and instances point to; parallel to the entries of the (split) keys */
		uint32_t first;    /* the first value */
		uint32_t capacity; /* one byte, 3.13+, else DT_ABSENT */
		uint32_t valid;    /* one byte, 3.13+: 0 means that the inline values are no longer used */
	} dictvalues;
	struct { /* of a class with none of the flags the dict pointer lies at tp_dictoffset (if that is > 0) */
		enum dt_instance_kind kind;
		uint64_t managed_dict_flag;  /* in tp_flags: words before the object are used; 0: no such thing */
		uint64_t inline_values_flag; /* in tp_flags, 3.13+: values lie at object + tp_basicsize; 0: no such */
		int32_t dict_pointer;        /* negative: relative to the object; 3.12: dict or tagged values */
		int32_t values_pointer;      /* 3.11; 0: no such */
		uint64_t values_tag; /* 3.12: if this bit of the pointer is set the values are at pointer + tag */
	} instance;
	struct {
		uint32_t dict; /* of a module object */
	} module;
	struct {
		uint32_t size_or_tag, digits; /* ob_size up to 3.11, lv_tag from 3.12 on */
		uint32_t plain;               /* 2.7: long, of an int that is no long; else DT_ABSENT */
		bool tagged;
	} integer;
};

/* The table for ordinary builds of the last releases of a version, NULL if it has none (3.13 and later describe
 * themselves); and the one for a certain release. */
const struct dt_layout *dt_layout_for(uint8_t major, uint8_t minor);
const struct dt_layout *dt_layout_for_release(uint8_t major, uint8_t minor, uint8_t micro);

/* Is this layout made for that release? Of those that are, the first in the list that fits the objects is right. */
bool dt_layout_is_for(const struct dt_layout *layout, uint8_t major, uint8_t minor, uint8_t micro);

/* All tables, newest version first, of one version that of the first releases, of one release that of ordinary builds,
 * then that with traced_refs; ended by NULL: for finding out which one fits. */
extern const struct dt_layout *const dt_layouts[];

#endif
