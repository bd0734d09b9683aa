// The pool under load: callers that share it, bodies that throw, callers that stop, forks.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"
#include "solve/held_out.hpp"
#include "solve/small.hpp"

namespace widestreet {
namespace {

constexpr int kCallers = 4;

// Sums 1 to count by parts on several threads.
void sum_by_parts(int64_t count, int threads) {
  std::vector<int64_t> part(size_t(count), 0);
  for_ranges(count, 3, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part[i] = i + 1;
  });
  int64_t sum = 0;
  for (int64_t value : part) sum += value;
  EXPECT(sum == count * (count + 1) / 2);
}

void throw_in_parts(int threads) {
  bool caught = false;
  try {
    for_ranges(60, 1, threads, [](int64_t begin, int64_t) {
      if (begin % 20 == 7) throw std::runtime_error("expected");
    });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  EXPECT(caught);
}

// One fit: a scan and some small problems.
void fit(unsigned seed) {
  const Data data(400, 6, Data::Layout(seed % Data::layouts), seed % 2 == 0, seed);
  Dual dual(data, seed % 2 == 1);
  const Kernel kernel{KernelKind::rbf, 1.0, 0.0, 3};
  std::vector<int64_t> index(400), end = {100, 250, 400}, limits(3, 3000);
  for (int64_t i = 0; i < 400; ++i) index[i] = i;
  SmallTask task;
  task.kernel = kernel;
  task.rows = &data.rows;
  task.problems = 3;
  task.end = end.data();
  task.max_steps = limits.data();
  task.index = index.data();
  task.dual = dual.variables();
  task.beta = dual.beta.data();
  task.score = dual.score.data();
  task.threads = 3;
  std::vector<SmallReport> report(3);
  std::vector<double> bias(size_t(3 * dual.groups));
  solve_small(task, report.data(), bias.data());
  std::vector<double> coef(400, 0.01), out(400, 0.0);
  ScanTask scan;
  scan.kernel = kernel;
  scan.left = scan.right = {&data.rows, nullptr, 400};
  scan.coef = coef.data();
  scan.out = out.data();
  scan.out_ld = 400;
  scan.threads = 3;
  functions().scan(&scan, 1);
  for (double value : out) EXPECT(value > 0 && value <= 4.0 + 1e-9);
}

// Folds of one problem side by side, or several problems.
void hold_out_folds(unsigned seed) {
  const int64_t n = 300, folds = 5;
  const Data data(n, 6, Data::Layout(seed % Data::layouts), seed % 2 == 0, seed);
  const Dual dual(data, false);
  std::vector<int64_t> index(n), end = {n};
  if (seed % 2) end = {80, 200, n};
  std::vector<uint8_t> role(size_t(folds * n));
  for (int64_t i = 0; i < n; ++i) {
    index[i] = i;
    for (int64_t k = 0; k < folds; ++k) role[k * n + i] = i % folds == k ? 2 : 1;
  }
  std::vector<double> score(size_t(n), NAN);
  std::atomic<int> calls{0};
  HeldOutTask task;
  task.kernel = {KernelKind::rbf, 1.0, 0.0, 3};
  task.rows = &data.rows;
  task.problems = int64_t(end.size());
  task.end = end.data();
  task.index = index.data();
  task.dual = dual.variables();
  task.beta = dual.beta.data();
  task.folds = folds;
  task.role = role.data();
  task.tol = 1e-2;
  task.in_double = seed % 4 < 2;
  task.most_near = n;
  task.threads = 3;
  task.score = score.data();
  std::vector<HeldOutReport> report(end.size());
  EXPECT(!hold_out(task, report.data()));
  for (const HeldOutReport& r : report) EXPECT(r.violation <= task.tol);
  task.stop = [&] { return ++calls > 4; };
  if (hold_out(task, report.data())) EXPECT(calls > 4);
}

// Pair steps on more rows than a block has: disjoint parts at once, copies and scores by threads.
void steps_in_parts(unsigned seed) {
  const int64_t n = seed % 4 ? 1100 : 2100;  // two parts, or four
  const Data data(n, 6, Data::Layout(0), true, seed);
  Dual dual(data, false);
  std::vector<float> tile(size_t(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double square = 0;
      for (int64_t k = 0; k < data.d; ++k)
        square += std::pow(data.full[i * data.d + k] - data.full[j * data.d + k], 2);
      tile[i * n + j] = float(std::exp(-square));
    }
  Subproblem p;
  p.dual = dual.variables();
  p.tile = tile.data();
  p.ld = n;
  p.beta = dual.beta.data();
  p.score = dual.score.data();
  p.max_steps = 1000000;
  p.block = 700;
  p.threads = seed % 2 ? 4 : 9;
  std::vector<unsigned char> scratch(seed % 3 ? size_t(n * n * 4 + 64) : 0);
  p.scratch = scratch.empty() ? nullptr : scratch.data() + seed % 3;
  p.scratch_bytes = scratch.empty() ? 0 : int64_t(scratch.size()) - 3;
  EXPECT(functions().solve(p).violation <= 1e-3);
}

// A solver that another thread tells to stop, as an interrupt does.
void stop_from_outside() {
  const int64_t n = 600;
  std::vector<double> tile(size_t(n * n)), target(n), lower(n), upper(n), beta(n, 0.0),
      score(n, 0.0);
  std::vector<uint8_t> group(size_t(n), 0);
  for (int64_t i = 0; i < n; ++i) {
    target[i] = i % 2 ? 1.0 : -1.0;
    upper[i] = i % 2 ? 1e6 : 0.0;
    lower[i] = i % 2 ? 0.0 : -1e6;
    for (int64_t j = 0; j < n; ++j) tile[i * n + j] = std::exp(-1e-6 * double((i - j) * (i - j)));
  }
  std::atomic<bool> flag{false};
  Subproblem p;
  p.dual = {n, 1, 1, n, target.data(), lower.data(), upper.data(), group.data()};
  p.in_double = true;
  p.tile = tile.data();
  p.ld = n;
  p.beta = beta.data();
  p.score = score.data();
  p.tol = 1e-12;
  p.max_steps = int64_t(1) << 40;
  p.block = 128;
  p.threads = 3;
  p.stop = [&] { return flag.load(); };
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    flag = true;
  });
  EXPECT(functions().solve(p).stopped);
  interrupter.join();
  double sum = 0;
  for (double value : beta) sum += value;
  EXPECT(std::fabs(sum) <= 1e-6);
}

// ThreadSanitizer knows no threads that begin after a fork: under it, a child works alone.
#ifdef __SANITIZE_THREAD__
constexpr int kThreadsOfChild = 1;
#else
constexpr int kThreadsOfChild = 3;
#endif

// AddressSanitizer of GCC 12 does not release the locks of its allocator in a forked process, which
// then waits for ever if another thread allocated: under it, the parent is idle.
#ifdef __SANITIZE_ADDRESS__
constexpr int kBusyCallers = 0;
#else
constexpr int kBusyCallers = kCallers;
#endif

// A forked process works with a pool of its own, however busy that of its parent is.
void fork_while_busy() {
  std::atomic<bool> enough{false};
  std::vector<std::thread> callers;
  for (int c = 0; c < kBusyCallers; ++c)
    callers.emplace_back([&] {
      while (!enough) sum_by_parts(50, 3);
    });
  for (int k = 0; k < 20; ++k) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
      alarm(60);
      sum_by_parts(50, kThreadsOfChild);
      throw_in_parts(kThreadsOfChild);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  enough = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace

void check_threads() {
  std::vector<std::thread> callers;
  for (unsigned c = 0; c < kCallers; ++c)
    callers.emplace_back([c] {
      for (unsigned k = 0; k < 3; ++k) {
        fit(kCallers * k + c);
        hold_out_folds(kCallers * k + c);
        steps_in_parts(kCallers * k + c);
        for (int repeat = 0; repeat < 50; ++repeat) sum_by_parts(40 + repeat, 2 + int(c));
        throw_in_parts(2 + int(c));
      }
    });
  for (std::thread& caller : callers) caller.join();
  stop_from_outside();
  fork_while_busy();
}

}  // namespace widestreet
