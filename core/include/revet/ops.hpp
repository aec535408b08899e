/// The ops of the thread level, of `mem` and of `arith`. `revet ops NAME` prints each one's
/// constraints; this header says what they mean.
///
/// Conventions
/// - A region is one block unless said otherwise. Regions are not isolated: an op may use any value
///   that dominates it, also values of enclosing threads.
/// - A block of a thread op ends in the terminator named below or in `thread.exit` (the thread ends
///   there; such a path gives no data to the op's results).
/// - Break, continue and early return are i1 values carried by `thread.while` / `thread.if`.
/// - An optional trailing predicate operand of a memory op is announced by the attribute
///   `predicated = true`; where it is false there is no access and the result is 0.
/// - Memory accesses with `checked = true` are verified against their bounds by emitting backends
///   too (pass `bounds-check`).
/// - An index is i32 (negative: outside) or u32.
#pragma once

#include "revet/op_info.hpp"

namespace revet::ops {

// --- thread -------------------------------------------------------------------------------------

/// thread.func() {sym, args = ["count", ..], result = TYPE} ({^bb0(params): ..; thread.return(v)}).
/// At module level. `main` is launched; its parameters are the program's scalar arguments.
extern const OpInfo thread_func;
/// thread.call(args) {callee} -> result (or none).
extern const OpInfo thread_call;
/// thread.return(v or nothing): the one terminator at the end of a function's block.
extern const OpInfo thread_return;
/// thread.if(cond: i1) (then, else) -> results. Both regions end in thread.yield(results).
extern const OpInfo thread_if;
/// thread.while(inits) (before, body) -> results. `before` has one argument per init and ends in
/// thread.condition(c, v..); where c is false the v.. are the results, else they are the arguments
/// of `body`, which ends in thread.yield(next inits).
/// Attributes: unroll, link ("scalar" | "vector").
extern const OpInfo thread_while;
/// thread.condition(c: i1, v..): ends `before` of a while.
extern const OpInfo thread_condition;
/// thread.foreach(lo, hi, step) {reduce = ["+", ..]} ({^bb0(%index): ..; thread.yield(v..)}) ->
/// one result per reduction. lo, hi, step and the index have one integer type; the index runs lo,
/// lo+step, .. while < hi (step > 0) or > hi (step < 0), without overflow; step 0 is a run-time
/// error. The body is a child thread per index; the parent waits for all, and for what they forked.
/// Operators: + * & | ^ min max && ||. Attributes: eliminate_hierarchy, threads, unroll, link.
extern const OpInfo thread_foreach;
/// thread.replicate() {n, fixed} ({..; thread.yield(v..)}) -> v..: runs the region once; hardware
/// has n copies of it.
extern const OpInfo thread_replicate;
/// thread.fork(n) -> i: the thread becomes n threads of the same level that all go on from here,
/// i = 0..n-1; n <= 0 ends it. n and i are i32 or u32.
/// `join = true`: all threads that come out of it but one end at the `thread.exit {join = true}`
/// that stands in an arm of a later thread.if of the block, and nowhere before. What was open at
/// the fork stays open at that exit, for the one that goes on. They nest like brackets.
extern const OpInfo thread_fork;
/// thread.exit() {join}: terminator; ends the thread. Open views and iterators were closed before.
extern const OpInfo thread_exit;
/// thread.yield(v..): ends a region of if, foreach, replicate, or the body of a while.
extern const OpInfo thread_yield;

// --- mem: arrays --------------------------------------------------------------------------------

/// mem.dram() {sym, size} -> dram<T>. At module level, in order of declaration. `size`, if present,
/// is an expression over main's parameters, evaluated in 64 bits: an integer, a string (parameter),
/// or [op, operands..] with op one of + - * / % << >> & | ^ ~ neg ! < <= > >= == != && || ?: min
/// max abs clamp. / and % follow the language's rules.
extern const OpInfo mem_dram;
/// mem.dram_size(array) -> low, high: u32 words of the number of elements; fixed at launch.
extern const OpInfo mem_dram_size;
/// mem.dram_load(array, index[, pred]) -> T
extern const OpInfo mem_dram_load;
/// mem.dram_store(array, index, value[, pred])
extern const OpInfo mem_dram_store;
/// mem.dram_atomic(array, index, value.. [, pred]) {op = "add|sub|and|or|xor|min|max|exchange|cas"}
/// -> old value; cas takes expected and desired. T is i32 or u32.
extern const OpInfo mem_dram_atomic;
/// mem.sram_alloc([owner][, pred]) {name, threads, regions, written} -> sram<T, N>, zeroed. The
/// buffer has a pointer of its own, or shares that of `owner`, which an alloc without owner gave to
/// the same thread. Where the predicate is false there is no buffer, and no access to the result.
/// `regions = R`: the memory stands once in each of the R copies of the thread.replicate behind it,
/// and pointer p means buffer p / R of the copy p % R; there are R times as many.
/// `written = true`: each element is written before it is read, so that it need not be zeroed.
extern const OpInfo mem_sram_alloc;
/// mem.sram_free(sram, sharing..[, pred]): at the end of its scope, and before every thread.exit
/// inside the scope. Frees a pointer: the sram is one that owns it, `sharing` are all others that
/// have been allocated with it.
extern const OpInfo mem_sram_free;
extern const OpInfo mem_sram_load;    ///< like dram_load
extern const OpInfo mem_sram_store;   ///< like dram_store
extern const OpInfo mem_sram_atomic;  ///< like dram_atomic
/// mem.pointer_store(sram<ptr, N>, index, kept): puts the pointer of the sram `kept` in a buffer.
extern const OpInfo mem_pointer_store;
/// mem.pointer_load(sram<ptr, N>, index, kept): takes out what the same thread has put there, for
/// every later use of `kept` and of what shares its pointer. Nothing changes by it, but the pointer
/// is not live between the two ops, where no other op of the thread uses it.
extern const OpInfo mem_pointer_load;

/// mem.bulk_load(sram<T, N>, array, base, high, valid[, pred]): sets all N elements of the buffer.
/// Element k is the array's at base + k for 0 <= k < min(N, max(0, valid)) where that is inside the
/// array, else 0. base and high are the low and high words of a 64-bit position; valid is an i32.
extern const OpInfo mem_bulk_load;
/// mem.bulk_store(..): stores the elements that a bulk_load would take from the array.
extern const OpInfo mem_bulk_store;

// --- mem: adapters of the language (Table I), until lower-adapters ------------------------------

/// mem.read_view(array, base[, valid]) {name} -> view<T, N>. base is i32 or u32 (extended to 64
/// bits by its signedness), valid i32 (absent: N).
extern const OpInfo mem_read_view;
extern const OpInfo mem_write_view;
extern const OpInfo mem_modify_view;
extern const OpInfo mem_view_load;   ///< (view, k[, pred]) -> T; k outside 0..N-1 is a bounds error
extern const OpInfo mem_view_store;  ///< (view, k, value[, pred])
extern const OpInfo mem_view_close;  ///< (view): end of scope; stores write and modify views
/// mem.read_it(array, pos) {name} -> iter<T, N>, and the other three kinds. pos is i32 or u32,
/// extended to 64 bits; positions never wrap.
extern const OpInfo mem_read_it;
extern const OpInfo mem_peek_read_it;
extern const OpInfo mem_write_it;
extern const OpInfo mem_manual_write_it;
extern const OpInfo mem_iter_load;   ///< (iter[, pred]) -> T: *it
extern const OpInfo mem_iter_peek;   ///< (iter, k[, pred]) -> T: it[k]
extern const OpInfo mem_iter_store;  ///< (iter, value[, pred]): *it = value
/// mem.iter_next(iter, k: u32[, pred]): it += k; k is the constant 1 for it++. Write iterators
/// advance by 1 only.
extern const OpInfo mem_iter_next;
extern const OpInfo mem_iter_next_last;  ///< (iter, last: i1[, pred]): it.next(last)
extern const OpInfo mem_iter_close;      ///< (iter): end of scope; flushes a WriteIt

// --- arith: on scalars, see scalar.hpp for what each computes ------------------------------------

extern const OpInfo arith_constant;  ///< {value = INT or FLOAT} -> scalar
extern const OpInfo arith_add, arith_sub, arith_mul, arith_div, arith_rem;
extern const OpInfo arith_and, arith_or, arith_xor, arith_shl, arith_shr;
extern const OpInfo arith_min, arith_max, arith_mulhi, arith_rotl, arith_rotr;
extern const OpInfo arith_neg, arith_abs, arith_popcount, arith_clz, arith_ctz;
extern const OpInfo arith_cmp;     ///< {pred = "eq|ne|lt|le|gt|ge"} (a, b) -> i1
extern const OpInfo arith_select;  ///< (c: i1, a, b) -> c ? a : b
/// (x) -> converted to the result's type. A pointer is converted to the u32 that is its number, and
/// back.
extern const OpInfo arith_cast;
/// arith.extract(word) {lo} -> T: the 8- or 16-bit part of a u32 or i32 that begins at bit `lo`, a
/// multiple of its width. A bool takes 8 bits. With arith.insert, what the machine does for free
/// where an op reads or writes a register (Section V-D).
extern const OpInfo arith_extract;
/// arith.insert(word, value) {lo} -> word with that part replaced.
extern const OpInfo arith_insert;

// --- cfg: terminators of the blocks of a function ------------------------------------------------
//
// Every block has at most two predecessors. A value may be used wherever its definition dominates;
// children use values of their parents.

extern const OpInfo cfg_br;       ///< cfg.br()[^to(args)]
extern const OpInfo cfg_cond_br;  ///< cfg.cond_br(c)[^where true(args), ^where false(args)]
/// cfg.loop_br()[^header(args)] {back}: enters a loop, or goes round (`back`). The header has one
/// of each.
extern const OpInfo cfg_loop_br;
extern const OpInfo cfg_loop_exit;  ///< cfg.loop_exit()[^to(args)] {loops}
/// cfg.foreach_enter(lo, hi, step)[^body(index), ^after(reduced..)]: a child per index begins at
/// body, the parent goes on at after when all have ended.
extern const OpInfo cfg_foreach_enter;
/// cfg.reduce(values) {reduce}: the one end of the children of a foreach.
extern const OpInfo cfg_reduce;
extern const OpInfo cfg_fork;  ///< cfg.fork(n)[^to(i)]
/// cfg.exit()[^end] {loops}: ends the thread. `end` is the block of the child's cfg.reduce, or of
/// main's thread.return; nothing but barriers arrives there.
extern const OpInfo cfg_exit;

// --- flow: nodes of streaming-tensor graphs ------------------------------------------------------
//
// A stream value of depth d carries a ragged d-dimensional tensor. A value with several uses is a
// multicast link. A bundle is several streams that move together.
//
// Any node may have `replicate = [[id, n, fixed], ..]`, the regions that it is in, the innermost
// last; behind unroll-replicate `copy = [[id, i], ..]`, the copies that it is in, likewise; `role`,
// what a pass added it for ("distribution", "collection"); `link`, "scalar" or "vector" for its
// results.

/// flow.graph() {sym, args, types} ({nodes in any order}), at module level.
extern const OpInfo flow_graph;
extern const OpInfo flow_source;  ///< {arg} -> stream<T, 1>; without arg a void
extern const OpInfo flow_sink;    ///< (void of depth 1)
/// flow.context(streams) ({^bb0(elements): ..; flow.yield(v..)}) -> streams, all of one depth.
extern const OpInfo flow_context, flow_yield;
extern const OpInfo flow_broadcast;  ///< (values: k.., structure: k+m) {levels = m} -> values: k+m
extern const OpInfo flow_counter;    ///< (min, max, step: k) -> k+1
extern const OpInfo flow_reduce;     ///< (a: k+1) {op} -> k; op "void" for voids
extern const OpInfo flow_flatten, flow_strip;  ///< (bundle: k+1) -> bundle: k
extern const OpInfo flow_filter;               ///< (p, bundle: k) {polarity} -> bundle: k
/// flow.deal(bundle: k) {keys} -> bundle: k, key (u32): 0, 1, .., keys-1, 0, .. in turn
extern const OpInfo flow_deal;
extern const OpInfo flow_merge;      ///< (bundle a: k, bundle b: k) -> bundle: k
extern const OpInfo flow_fb_merge;   ///< (forward: k, back: k+1) -> k+1
extern const OpInfo flow_buffer;     ///< (a) {depth} -> a
extern const OpInfo flow_void_join;  ///< (streams) -> void
/// flow.sram([owner]) {name, threads, regions, replicate} -> sram<T, N>: a memory of `threads`
/// buffers, in each of `regions` copies; see mem.sram_alloc. Pointers into it are streams of ptr.
/// Memories with one owner share its pointers; there are as many as the smallest of them has
/// buffers in all its copies; one that no node accesses only counts, and takes no memory unit.
/// `replicate` is the mark of the block that allocates.
extern const OpInfo flow_sram;
/// flow.alloc(memory, void[, pred]) -> pointer, void: takes a pointer, or waits for one.
extern const OpInfo flow_alloc;
extern const OpInfo flow_free;  ///< (memory, pointer[, voids][, pred]) -> void
extern const OpInfo
    flow_sram_fill;  ///< (memory, pointer[, voids][, pred]) -> void: zeroes a buffer
/// Memory nodes: (memory[, pointer], index, values[, voids][, pred]) {ordered, predicated} ->
/// [element,] void. `ordered` counts the voids.
extern const OpInfo flow_dram_load, flow_dram_store, flow_dram_atomic, flow_dram_cas;
extern const OpInfo flow_sram_load, flow_sram_store, flow_sram_atomic, flow_sram_cas;
/// (memory, array, pointer, base, high, valid[, voids][, pred]) -> void; see mem.bulk_load.
extern const OpInfo flow_bulk_load, flow_bulk_store;

/// True for the four ops that open a view or iterator, and for sram_alloc.
bool opens_scope(const Op& op);
/// True for sram_free, view_close and iter_close: operand 0 is what such an op opened.
bool closes_scope(const Op& op);
/// The DRAM array behind a dram, view or iter value; null for an sram.
Value* dram_of(const Value* memory);
/// The name to show for a memory value: the array's, SRAM's, view's or iterator's.
const std::string& memory_name(const Value* memory);
/// The predicate operand, or null where the access is unconditional.
Value* predicate(const Op& op);
/// The sram whose pointer addresses this one's buffers: itself, or the owner that its definition
/// names.
Value* pointer_owner(Value* sram);
/// Buffers of a flow.sram in all its copies; without `threads` what fills a memory unit in each
/// (Section V-B: "the maximum pointer is the size of a single MU divided by the thread-local buffer
/// size").
std::int64_t buffers_of(const Op& sram);
/// True if a node of the graph reads or writes the memory of a flow.sram: anything but taking and
/// freeing its pointers.
bool is_accessed(const Value& sram);

}  // namespace revet::ops
