/// The mapping of basic blocks to nodes: edges, blocks and terminators in cfg_to_flow.cpp, memory
/// operations in memory.cpp.
#pragma once

#include "blocks.hpp"
#include "nodes.hpp"
#include "revet/plugin.hpp"

namespace revet {

/// Writes the graph of one function in place of its blocks.
class Mapping : Nodes {
 public:
  Mapping(Module& module, Op& func, PassContext& context)
      : module_(module), func_(func), blocks_(func), context_(context) {}

  void run();

 private:
  struct Arriving {
    std::vector<Bundle> edges;
    Bundle by_foreach;  ///< live values of the parent that pass a foreach by
    Bundle voids_by_foreach;
    Op* header = nullptr;        ///< the fb_merge
    const Attr* link = nullptr;  ///< pragma of a loop
  };
  /// What a block knows while it is written.
  struct State {
    std::map<const Value*, Value*> streams;
    std::map<unsigned, Value*> voids;  ///< last void of each class that was touched
    Value* thread = nullptr;           ///< waits for what the thread did in other blocks
    unsigned depth = 1;
  };

  // --- edges ---

  void start();
  /// A forward edge; the block is ready when it was the last.
  void arrive(Block& to, Bundle bundle);
  void arrive_back(Block& header, const Bundle& bundle);
  /// The bundle for an edge: given arguments, live values of the target, the thread's void.
  Bundle bundle_for(const State& s, const Block& to, std::span<Value* const> args) const;
  /// The voids without those that another of them waits for.
  static Bundle last_of(const Bundle& voids);
  /// One void that waits for all.
  Value* joined(const State& s, const Bundle& voids);

  // --- blocks ---

  void write(Block& block);
  /// Broadcasts the values of enclosing threads that the block uses, from the foreach below the
  /// thread that has them: one level for its children, one for every loop and foreach further in.
  void receive(State& s, const Block& block, Value* structure);
  static void define(State& s, const Value* v, Value* stream);
  static bool is_memory(const Op& op);
  /// Makes one context of element-wise ops; what nobody outside them uses stays inside.
  void flush(State& s, std::vector<Op*>& pending);

  // --- memory ---

  /// The on-chip memory that an alloc gets its buffers from.
  Value* sram_of_alloc(const Op& alloc);
  /// Takes a pointer, unless the buffer shares one, and zeroes the buffer, unless that is not seen.
  void allocate(State& s, Op& op);
  void memory(State& s, Op& op);
  /// What comes next waits for all that the thread did.
  void merge_voids(State& s);

  // --- terminators ---

  void end(State& s, const Op& t);
  /// Only barriers pass, behind the thread's last voids; the values are of the right types only.
  void exit(State& s, const Op& t);
  void enter(State& s, const Op& t);
  void reduce(State& s, const Op& t);
  void fork(State& s, const Op& t);
  void finish();

  Module& module_;
  Op& func_;
  Blocks blocks_;
  PassContext& context_;
  std::map<const Block*, Arriving> arriving_;
  std::map<const Op*, Value*> srams_;
  /// What a foreach broadcasts: values of its thread, as streams there.
  std::map<const Op*, std::map<const Value*, Value*>> entered_;
  std::vector<Block*> ready_;
};

}  // namespace revet
