#include "gil.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

/* WHY: the linker would bind these to GLIBC_2.34 of the machine that builds (java/native/glibc.cc).
 * pthread_cleanup_push calls the first three. */
#if defined(__x86_64__)
#define MERGEDB_CLEANUP_VERSION "GLIBC_2.3.3"
#define MERGEDB_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define MERGEDB_CLEANUP_VERSION "GLIBC_2.17"
#define MERGEDB_OLDEST "GLIBC_2.17"
#else
#error "the oldest version of glibc's symbols for this machine is not known"
#endif
__asm__(".symver __pthread_register_cancel,__pthread_register_cancel@" MERGEDB_CLEANUP_VERSION);
__asm__(".symver __pthread_unregister_cancel,__pthread_unregister_cancel@" MERGEDB_CLEANUP_VERSION);
__asm__(".symver __pthread_unwind_next,__pthread_unwind_next@" MERGEDB_CLEANUP_VERSION);
__asm__(".symver dlsym,dlsym@" MERGEDB_OLDEST);

/* WHY by dlsym: its name depends on the version of Python, and one extension is for several. */
typedef int (*IsFinalizing)(void);
static IsFinalizing is_finalizing;
static pthread_once_t is_found = PTHREAD_ONCE_INIT;

static void Find(void) {
  void* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (found == NULL) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  *(void**)&is_finalizing = found;
}

int mergedb_gil_is_ending(void) {
  pthread_once(&is_found, Find);
  return Py_IsInitialized() == 0 || (is_finalizing != NULL && is_finalizing() != 0);
}

static void Park(void* unused) {
  (void)unused;
  for (;;) pause();
}

void mergedb_gil_restore(PyThreadState* state) {
  pthread_cleanup_push(Park, NULL);
  PyEval_RestoreThread(state);
  pthread_cleanup_pop(0);
}

/* WHY the check first: without a state of the thread, PyGILState_Ensure makes one in an interpreter that may be gone.
 * The thread that ends the interpreter has a state, and may still take the GIL. */
PyGILState_STATE mergedb_gil_ensure(void) {
  PyGILState_STATE state;
  if (mergedb_gil_is_ending() && PyGILState_GetThisThreadState() == NULL) Park(NULL);
  pthread_cleanup_push(Park, NULL);
  state = PyGILState_Ensure();
  pthread_cleanup_pop(0);
  return state;
}

PyObject* mergedb_gil_call(PyObject* callable, PyObject* arguments) {
  PyObject* result;
  pthread_cleanup_push(Park, NULL);
  result = PyObject_CallObject(callable, arguments);
  pthread_cleanup_pop(0);
  return result;
}

PyObject* mergedb_gil_iterator(PyObject* object) {
  PyObject* result;
  pthread_cleanup_push(Park, NULL);
  result = PyObject_GetIter(object);
  pthread_cleanup_pop(0);
  return result;
}

PyObject* mergedb_gil_next(PyObject* iterator) {
  PyObject* result;
  pthread_cleanup_push(Park, NULL);
  result = PyIter_Next(iterator);
  pthread_cleanup_pop(0);
  return result;
}

int mergedb_gil_is_true(PyObject* object) {
  int result;
  pthread_cleanup_push(Park, NULL);
  result = PyObject_IsTrue(object);
  pthread_cleanup_pop(0);
  return result;
}

int mergedb_gil_get_buffer(PyObject* object, Py_buffer* buffer, int flags) {
  int result;
  pthread_cleanup_push(Park, NULL);
  result = PyObject_GetBuffer(object, buffer, flags);
  pthread_cleanup_pop(0);
  return result;
}

void mergedb_gil_write_unraisable(PyObject* where) {
  pthread_cleanup_push(Park, NULL);
  PyErr_WriteUnraisable(where);
  pthread_cleanup_pop(0);
}
