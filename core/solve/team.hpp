// Threads that take pair steps together, each on its own part of the lines of a block.
//
// After each pass over its lines a member of the team writes down what it found and reads what the
// others found. All of them then make the same choice, so that a step needs no second message. A
// pass takes less than a microsecond: members look for the notes of the others all the time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include "parallel.hpp"

namespace widestreet {
namespace WIDESTREET_ISA {

// The line with the largest F that may grow, and the smallest F that may shrink.
struct First {
  double value = -std::numeric_limits<double>::infinity();
  int64_t line = -1;
  double lowest = std::numeric_limits<double>::infinity();
  double room = 0;    // of the variable that may grow
  bool late = false;  // whether the team is slower than one thread

  void merge(const First& other) {
    late = late || other.late;
    lowest = std::min(lowest, other.lowest);
    if (other.value > value || (other.value == value && other.line < line)) {
      value = other.value;
      line = other.line;
      room = other.room;
    }
  }
};

// The partner of the first line with the largest gain.
struct Second {
  double gain = 0;
  int64_t line = -1;
  double value = 0;  // F of the variable that may shrink
  double room = 0;
  double curvature = 1;

  void merge(const Second& other) {
    if (other.gain > gain || (other.gain == gain && gain > 0 && other.line < line)) *this = other;
  }
};

class Team {
 public:
  static constexpr int kMost = 8;

  explicit Team(int most) : most_(std::min(most, kMost)) {}

  // The number of a new member; negative if the team is complete.
  int join() {
    int count = joined_.load(std::memory_order_relaxed);
    do {
      if (count >= most_) return -1;
    } while (!joined_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
    return count;
  }

  // Waits a little for other members, and begins with those that came.
  void close() {
    const auto end = std::chrono::steady_clock::now() + kWait;
    while (joined_.load(std::memory_order_acquire) < most_ &&
           std::chrono::steady_clock::now() < end)
      relax();
    const int count = joined_.exchange(kClosed, std::memory_order_acq_rel);
    size_.store(count, std::memory_order_release);
  }

  // The number of members, once the team is closed.
  int size() const {
    await([&] { return size_.load(std::memory_order_acquire) > 0; });
    return size_.load(std::memory_order_relaxed);
  }

  // What all members found together; `mine` is what member `me` found. Calls of first() and of
  // second() alternate: a note is overwritten only after everybody has answered it.
  First first(int me, int64_t step, const First& mine) { return merged(first_, me, step, mine); }
  Second second(int me, int64_t step, const Second& mine) {
    return merged(second_, me, step, mine);
  }

 private:
  static constexpr std::chrono::microseconds kWait{100};
  static constexpr int kClosed = 1 << 20;
  static constexpr int kLooks = 2000, kPatientLooks = 200;

  template <class Found>
  struct alignas(64) Note {
    std::atomic<int64_t> step{0};
    Found found;
  };

  template <class Ready>
  static void await(Ready&& ready) {
    for (int look = 0; !ready(); ++look) {
      if (look > kPatientLooks) relax();
      if (look > kLooks) std::this_thread::yield();
    }
  }

  template <class Found>
  Found merged(Note<Found>* notes, int me, int64_t step, const Found& mine) {
    notes[me].found = mine;
    notes[me].step.store(step, std::memory_order_release);
    Found all;
    const int size = size_.load(std::memory_order_relaxed);
    for (int member = 0; member < size; ++member) {
      const Note<Found>& note = notes[member];
      await([&] { return note.step.load(std::memory_order_acquire) >= step; });
      all.merge(note.found);
    }
    return all;
  }

  const int most_;
  Note<First> first_[kMost];
  Note<Second> second_[kMost];
  alignas(64) std::atomic<int> joined_{0};
  std::atomic<int> size_{0};
};

// Decides by measured times whether steps are taken by one thread or by a team. A member that loses
// its processor stops all others, so that a team is given up soon and tried again ever more rarely.
class Tempo {
 public:
  // Begins with other lines.
  void begin(bool possible) {
    possible_ = possible;
    together_ = false;
    alone_ = std::numeric_limits<double>::infinity();
  }

  bool together() const { return together_; }
  // Steps times lines until the times are compared again.
  int64_t work() const { return possible_ && (together_ || wait_ <= 1) ? kShort : kLong; }

  // Whether a team that began at this time is slower than one thread: its steps end then.
  bool late(int64_t steps, std::chrono::steady_clock::time_point begun) const {
    if (steps % kBetweenLooks != 0) return false;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
    return time.count() > alone_ * double(steps + kBetweenLooks);
  }

  void took(int64_t steps, std::chrono::duration<double> time) {
    if (!possible_) return;
    const double pace = time.count() / double(steps);  // infinite without a step
    if (!together_) {
      alone_ = std::min(alone_, pace);
      together_ = --wait_ <= 0;
    } else if (pace < kFaster * alone_) {
      pause_ = std::max<int64_t>(1, pause_ / 2);
    } else {
      together_ = false;
      wait_ = pause_ = std::min(kLongest, 4 * pause_);
    }
  }

 private:
  static constexpr int64_t kShort = 1 << 22, kLong = 1 << 24;
  static constexpr int64_t kLongest = 64;       // pause, in parts
  static constexpr int64_t kBetweenLooks = 16;  // at the clock, in steps
  static constexpr double kFaster = 0.85;

  bool possible_ = false, together_ = false;
  double alone_ = 0;              // shortest time of a step of one thread
  int64_t wait_ = 1, pause_ = 1;  // parts until the next trial
};

}  // namespace WIDESTREET_ISA
}  // namespace widestreet
