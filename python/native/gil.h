/* Every place where a thread of the extension takes the GIL, or runs Python code below frames of C++.
 *
 * When the interpreter ends, a daemon thread that takes the GIL is ended by pthread_exit (CPython before 3.14), whose
 * unwinding of frames of C++ aborts the process. The functions here park such a thread instead: it sleeps until the
 * process ends, as CPython 3.14 does it. It then holds no GIL, but whatever its callers hold.
 *
 * WHY in C: pthread_exit ends its unwinding at a cleanup handler of C. So it meets no frame of C++, as long as none is
 * between the handler and Python. python/tests/test_exit.py covers it.
 * THREADS: any. */
#ifndef MERGEDB_PYTHON_GIL_H
#define MERGEDB_PYTHON_GIL_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True once no other thread can take the GIL again. Needs no GIL. */
int mergedb_gil_is_ending(void);

/* As PyEval_RestoreThread and PyGILState_Ensure. */
void mergedb_gil_restore(PyThreadState* state);
PyGILState_STATE mergedb_gil_ensure(void);

/* As PyObject_CallObject, PyObject_GetIter, PyIter_Next, PyObject_IsTrue and PyObject_GetBuffer, whose objects may be
 * Python code. */
PyObject* mergedb_gil_call(PyObject* callable, PyObject* arguments);
PyObject* mergedb_gil_iterator(PyObject* object);
PyObject* mergedb_gil_next(PyObject* iterator);
int mergedb_gil_is_true(PyObject* object);
int mergedb_gil_get_buffer(PyObject* object, Py_buffer* buffer, int flags);
/* Reports the exception of this thread as one that no caller can get. */
void mergedb_gil_write_unraisable(PyObject* where);

#ifdef __cplusplus
}
#endif

#endif
