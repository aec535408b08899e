/// Makes the ends of a thread values: what ended it says so with an i1, and nothing after it runs.
#pragma once

#include "revet/builder.hpp"

namespace revet {

class Endings {
 public:
  /// `forks(b, n)` is called where the thread becomes n > 0 threads.
  explicit Endings(std::function<void(Builder&, Value* n)> forks) : forks_(std::move(forks)) {}

  /// Rewrites a block that ends in a yield, or never reaches its end, so that no exit and no fork
  /// of nothing is left in it but in foreachs, whose threads are others. Its terminator is then a
  /// yield of the values, of `types`, and of an i1: the thread has ended.
  void rewrite(Block& block, const std::vector<Type>& types);

 private:
  Value* rewrite_op(Op& op);
  void rewrite_while(Op& op);
  Value* rewrite_fork(Op& op);
  void guard_rest(Op& first, Value* ended, const std::vector<Type>& types);

  std::function<void(Builder&, Value*)> forks_;
};

}  // namespace revet
