/* Names by which calls are carried: see native_internals.h. A name also stands for what compilers make of it, with a
 * dot behind it ("type_call.cold", "slot_tp_call.isra.0"); one that ends in a star for all that begin so. */
#include "sample/native_internals.h"

#include <string.h>

#include "base/util.h"

static const char *const loops[] = {
    "_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx", "PyEval_EvalFrame", "_PyEval_EvalFrame", "_TAIL_CALL_*",
};

static const char *const carriers[] = {
    "PyEval_*",
    "_PyEval_*",
    "_TAIL_CALL_*",
    "PyObject_Call*",
    "_PyObject_Call*",
    "_PyObject_FastCall*",
    "_PyObject_MakeTpCall",
    "_PyObject_Vectorcall*",
    "PyObject_Vectorcall*",
    "_PyObject_VectorcallTstate",
    "PyVectorcall_*",
    "_PyVectorcall_*",
    "_PyFunction_*",
    "function_code_fastcall",
    "function_call",
    "fast_function",
    "call_function",
    "ext_do_call",
    "do_call",
    "do_call_core",
    "do_call_keywords",
    "object_vacall",
    "callmethod",
    "call_method",
    "call_unbound*",
    "vectorcall_*",
    "lookup_maybe_method",
    "method_vectorcall*",
    "method_call",
    "method_descr_call",
    "methoddescr_call",
    "classmethoddescr_call",
    "wrapperdescr_call",
    "wrapper_call",
    "wrap_*",
    "slot_*",
    "type_call",
    "type_vectorcall*",
    "instancemethod_call",
    "instance_call",
    "instance_new",
    "PyInstance_New",
    "PyCFunction_Call",
    "PyCFunction_Fast*",
    "_PyCFunction_*",
    "_PyMethodDef_*",
    "_PyMethodDescr_*",
    "_PyCFunctionFastCall*",
    "cfunction_*",
    "cfunction_call*",
    "partial_call*",
    "partial_vectorcall*",
    "gen_send_ex*",
    "gen_iternext",
    "gen_send",
    "_PyGen_Send",
    "_PyEval_Vector",
    "run_eval_code_obj",
    "run_mod",
    "run_pyc_file",
    "PyRun_*",
    "_PyRun_*",
    "pyrun_*",
    "Py_RunMain",
    "Py_Main",
    "Py_BytesMain",
    "_Py_UnixMain",
    "pymain_*",
    "RunModule",
    "RunMain*",
    "builtin_exec",
    "builtin_eval",
    "thread_run",
    "t_bootstrap",
    "pythread_wrapper",
    "_start",
    "main",
};

static const char *const starters[] = {
    "_start",
    "__libc_start_main*",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__clone_internal",
    "start_thread",
    "__GI___clone",
    "start",
    "libc_start_main_stage2",
    "_dl_start_user",
    "__pthread_start",
};

static bool fits(const char *name, const char *symbol)
{
	size_t length = strlen(name);

	if (length && name[length - 1] == '*')
		return !strncmp(symbol, name, length - 1);
	return !strncmp(symbol, name, length) && (symbol[length] == '\0' || symbol[length] == '.');
}

static bool is_one_of(const char *symbol, const char *const *names, size_t count)
{
	for (size_t i = 0; symbol && i < count; i++)
		if (fits(names[i], symbol))
			return true;
	return false;
}

bool dt_is_loop(const char *symbol)
{
	return is_one_of(symbol, loops, DT_COUNT(loops));
}

bool dt_is_internal(const char *symbol, bool interpreter)
{
	if (!symbol)
		return interpreter;
	return is_one_of(symbol, starters, DT_COUNT(starters)) ||
	       (interpreter && is_one_of(symbol, carriers, DT_COUNT(carriers)));
}
