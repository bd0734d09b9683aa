// Loaded before everything else (LD_PRELOAD): lets the k-th allocation fail.
//
// C++ asks operator new, which throws; NumPy, LAPACK and Python ask malloc, which returns null.
// Only large blocks are counted there: the small ones are those of the interpreter itself.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
int PyGILState_Check(void) __attribute__((weak));
}

namespace {
constexpr size_t kLarge = 2048;
std::atomic<long> at[2] = {0, 0}, seen[2] = {0, 0};  // operator new; malloc

bool fails(int which) {
  if (at[which].load() == 0) return false;
  return seen[which].fetch_add(1) + 1 == at[which].load();
}

// Where NumPy has let go of the interpreter it cannot report an error, and the process would die of
// the attempt (npyiter_allocate_buffers): those allocations are spared.
bool large_fails(size_t size) {
  if (size < kLarge || at[1].load() == 0) return false;
  return PyGILState_Check && PyGILState_Check() && fails(1);
}

void* made(size_t size, size_t alignment) {
  if (fails(0)) throw std::bad_alloc();
  void* found = alignment ? __libc_memalign(alignment, size) : __libc_malloc(size ? size : 1);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
}  // namespace

extern "C" {
// Lets allocation `which` fail from now on; a huge number only counts, zero ends it.
void fail_at(int which, long number) {
  seen[which] = 0;
  at[which] = number;
}
long counted(int which) { return seen[which]; }

void* malloc(size_t size) {
  if (!large_fails(size)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t count, size_t size) {
  if (!large_fails(count * size)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* old, size_t size) {
  if (!large_fails(size)) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}
}

void* operator new(size_t size) { return made(size, 0); }
void* operator new[](size_t size) { return made(size, 0); }
void* operator new(size_t size, std::align_val_t a) { return made(size, size_t(a)); }
void* operator new[](size_t size, std::align_val_t a) { return made(size, size_t(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
