#include "random_graphs.hpp"

#include <algorithm>

#include "revet/sim/random.hpp"
#include "support.hpp"

namespace revet::sim::test {
namespace {

constexpr Kind u32 = Kind::u32;

/// A thread's live values, u32 and pointers, and the void that orders its memory operations. A
/// statement replaces values and the void; their places stay.
struct Thread {
  Bundle values;
  StreamId order;
  std::vector<std::size_t> free_to_change;  ///< places
  struct Buffer {
    std::size_t place;
    std::uint32_t sram;
    bool read_only;
  };
  std::vector<Buffer> buffers;
  Bundle outer;  ///< values of enclosing threads, as they were at the foreach
  bool holds_pointer = false;

  Bundle all() const {
    Bundle b = values;
    b.push_back(order);
    return b;
  }
  void set(Bundle b) {
    order = b.back();
    b.pop_back();
    values = std::move(b);
  }
};

class Maker {
 public:
  explicit Maker(RandomCase& made, Random& r) : c_(made), g_(made.graph), r_(r) {}

  void make() {
    make_arrays();
    Thread t = main_threads();
    nodes_left_ = 12 + below(70);
    statements(t, 2 + below(8), 0);
    for (const StreamId s : t.all()) g_.sink(s, "end");
    mark(RandomCase::lists);
    for (StreamId s = 0; s < g_.streams().size(); ++s)
      if (g_.stream(s).readers.empty()) g_.unused(s);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return r_.below(n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }
  /// Streams made since the last call are of this kind, or weaker.
  void mark(RandomCase::Same same) {
    if (loops_ != 0) same = std::max(same, RandomCase::content);
    if (dealt_) same = RandomCase::nothing;
    c_.same.resize(g_.streams().size(), same);
  }
  void enter_loop(int by) {
    mark(RandomCase::lists);
    loops_ += by;
  }

  void array(const char* name, Kind kind, std::size_t count, bool random) {
    g_.dram(name, kind);
    std::vector<std::uint8_t> bytes(count * Type{kind}.bytes(), 0);
    if (random)
      for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(r_.next());
    c_.arrays.push_back(std::move(bytes));
  }
  enum : std::uint32_t { input, input_bytes, sums, maxima, squares, copy, copy_bytes };
  static constexpr std::uint32_t input_size = 2048;
  void make_arrays() {
    array("input", u32, input_size, true);
    array("input_bytes", Kind::u8, input_size, true);
    array("sums", u32, 64, false);
    array("maxima", u32, 64, false);
    array("squares", u32, 512, false);
    array("copy", u32, input_size, false);
    array("copy_bytes", Kind::u8, input_size, false);
  }

  Thread main_threads() {
    const unsigned depth = 1 + below(3);
    const std::size_t lanes = 1 + below(4);
    const auto value = [&](Random& r) {
      Values v;
      for (std::size_t i = 0; i < lanes; ++i) v.push_back(r.below(1 << (3 + r.below(8))));
      return v;
    };
    Tensor tensor = random_tensor(r_, depth, value);
    // Lists that fill vectors, and main's own, which is rarely empty.
    const auto lengthen = [&](Tensor& list) {
      for (std::uint32_t n = below(chance(30) ? 80 : 7); n != 0; --n)
        list.items.push_back(leaf(value(r_)));
    };
    if (depth == 1) lengthen(tensor);
    if (depth == 2)
      for (Tensor& list : tensor.items) lengthen(list);
    Thread t;
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::vector<Token> tokens = expand(tensor, depth, i);
      t.values.push_back(g_.source(u32, depth, chance(50) ? encode(tokens) : tokens, "x"));
      t.free_to_change.push_back(i);
    }
    t.order =
        g_.context(program({u32}, [](Program& p) { p.output_void(); }), {t.values[0]}, "order")[0];
    return t;
  }

  // --- values

  StreamId any_value(const Thread& t) { return t.values[pick(t.free_to_change)]; }
  StreamId make(StreamId x, const char* name, const std::function<Program::Register(Program&)>& f) {
    return g_.context(program({g_.stream(x).element}, [&](Program& p) { p.output(f(p)); }), {x},
                      name)[0];
  }
  StreamId masked(StreamId x, std::uint32_t mask) {
    return make(x, "mask",
                [=](Program& p) { return p.op(Scalar::and_, p.input(0), p.constant(u32, mask)); });
  }
  StreamId condition(StreamId x) {
    static constexpr Scalar ops[] = {Scalar::eq, Scalar::ne, Scalar::lt, Scalar::ge};
    const Scalar op = ops[below(4)];
    const std::uint32_t mask = (1u << (1 + below(3))) - 1, than = below(mask + 1);
    return make(x, "condition", [=](Program& p) {
      return p.op(op, p.op(Scalar::and_, p.input(0), p.constant(u32, mask)), p.constant(u32, than));
    });
  }
  StreamId combined(StreamId a, StreamId b, Scalar op) {
    return g_.context(
        program({u32, u32}, [=](Program& p) { p.output(p.op(op, p.input(0), p.input(1))); }),
        {a, b}, "combine")[0];
  }

  void compute(Thread& t) {
    static constexpr Scalar ops[] = {Scalar::add, Scalar::sub,  Scalar::mul, Scalar::xor_,
                                     Scalar::min, Scalar::rotl, Scalar::shr, Scalar::rem};
    const std::size_t inputs = 1 + below(3);
    Bundle in;
    for (std::size_t i = 0; i < inputs; ++i) in.push_back(any_value(t));
    Program p{std::vector<Kind>(inputs, u32)};
    std::vector<Program::Register> live{p.constant(u32, below(16))};
    for (std::size_t i = 0; i < inputs; ++i) live.push_back(p.input(i));
    for (unsigned n = 1 + below(4); n != 0; --n) {
      const auto a = pick(live), b = pick(live);
      if (chance(20))
        live.push_back(p.select(p.op(Scalar::lt, a, b), b, pick(live)));
      else if (chance(10))
        live.push_back(p.cast(u32, p.cast(Kind::i8, a)));
      else
        live.push_back(p.op(ops[below(8)], a, b));
    }
    p.output(live.back());
    const bool two = chance(25);
    if (two) p.output(pick(live));
    const Bundle out = g_.context(p, in, "compute");
    t.values[pick(t.free_to_change)] = out[0];
    if (two) t.values[pick(t.free_to_change)] = out[1];
  }

  // --- control

  void if_else(Thread& t, unsigned nesting) {
    const StreamId pred = condition(any_value(t));
    Thread then = t, other = t;
    then.set(g_.filter(pred, true, t.all(), "then"));
    other.set(g_.filter(pred, false, t.all(), "else"));
    statements(then, below(3), nesting);
    if (chance(60)) statements(other, below(3), nesting);
    t.set(g_.merge(then.all(), other.all(), "join"));
  }

  void while_loop(Thread& t, unsigned nesting) {
    const StreamId trips = masked(any_value(t), loops_ == 0 && chance(30) ? 7 : 3);
    Thread in = t;
    in.values.push_back(trips);
    const std::size_t counter = in.values.size() - 1;
    enter_loop(1);
    const Graph::Header header = g_.fb_merge(in.all(), "while");
    in.set(header.out);
    const StreamId more = make(in.values[counter], "more", [](Program& p) {
      return p.op(Scalar::ne, p.input(0), p.constant(u32, 0));
    });
    Thread body = in;
    body.set(g_.filter(more, true, in.all(), "stay"));
    statements(body, below(3), nesting);
    body.values[counter] = make(body.values[counter], "next", [](Program& p) {
      return p.op(Scalar::sub, p.input(0), p.constant(u32, 1));
    });
    g_.close_loop(header, body.all());
    Bundle left = g_.filter(more, false, in.all(), "leave");
    enter_loop(-1);
    left = g_.strip(left, "result");
    left.erase(left.end() - 2);
    t.set(left);
  }

  StreamId indices(Thread& t) {
    const StreamId x = any_value(t);
    if (chance(20)) {  // downwards
      const StreamId from =
          make(masked(x, 15), "from", [](Program& p) { return p.cast(Kind::i32, p.input(0)); });
      const StreamId index = g_.counter(from, constant(g_, from, ~0u, Kind::i32),
                                        constant(g_, from, ~0u, Kind::i32), "foreach");
      return make(index, "index", [](Program& p) { return p.cast(u32, p.input(0)); });
    }
    static constexpr std::uint32_t masks[] = {3, 3, 7, 15, 31};
    const bool nested = loops_ != 0 || !t.outer.empty();
    const StreamId max = masked(x, nested ? 3 : masks[below(5)]);
    const StreamId min = chance(50) ? constant(g_, x, 0) : masked(any_value(t), 3);
    return g_.counter(min, max, constant(g_, x, 1 + below(3)), "foreach");
  }

  void foreach_(Thread& t, unsigned nesting) {
    const StreamId index = indices(t);
    Bundle live;
    for (unsigned n = below(3); n != 0; --n) live.push_back(any_value(t));
    std::vector<Thread::Buffer> buffers;
    for (Thread::Buffer b : t.buffers) {
      live.push_back(t.values[b.place]);
      b.place = live.size();
      b.read_only = true;
      buffers.push_back(b);
    }
    live.push_back(t.order);
    Thread child;
    Bundle broadcasts = g_.broadcast(live, index, 1, "live");
    child.order = broadcasts.back();
    broadcasts.pop_back();
    child.values = {index};
    child.values.insert(child.values.end(), broadcasts.begin(), broadcasts.end());
    for (std::size_t i = 0; i < child.values.size() - buffers.size(); ++i)
      child.free_to_change.push_back(i);
    child.buffers = buffers;
    child.outer = t.outer;
    child.outer.push_back(any_value(t));
    statements(child, 1 + below(4), nesting);
    static const std::vector<std::string> ops{"+", "^", "max", "&", "|", "min", "*"};
    const StreamId sum = g_.reduce(any_value(child), reduction_of(pick(ops), u32), "sum");
    const StreamId done = g_.reduce_void(child.order, "done");
    const std::size_t place = pick(t.free_to_change);
    t.values[place] = combined(t.values[place], sum, Scalar::add);
    t.order = g_.void_join({t.order, done}, "joined");
  }

  /// A value of an enclosing thread, for each element in the loops around.
  void use_outer(Thread& t) {
    if (t.outer.empty()) return;
    const StreamId a = pick(t.outer);
    const unsigned levels = g_.stream(t.values[0]).depth - g_.stream(a).depth;
    const StreamId value = g_.broadcast({a}, t.values[0], levels, "outer")[0];
    const std::size_t place = pick(t.free_to_change);
    t.values[place] = combined(t.values[place], value, Scalar::xor_);
  }

  void fork_(Thread& t) {
    if (t.holds_pointer || forks_ == 2 || loops_ > 1) return;
    ++forks_;
    Bundle b = t.all();
    b.push_back(masked(any_value(t), below(3) == 0 ? 3 : 1));
    Bundle out = fork(g_, b, b.size() - 1);
    const StreamId index = out.back();
    out.resize(out.size() - 2);
    t.set(out);
    const std::size_t place = pick(t.free_to_change);
    t.values[place] = combined(t.values[place], index, Scalar::add);
  }

  void leave(Thread& t) {
    if (t.holds_pointer) return;
    t.set(g_.filter(condition(any_value(t)), true, t.all(), "exit"));
  }

  /// Copies of one region.
  void replicate(Thread& t) {
    if (dealt_) return;
    mark(RandomCase::lists);
    dealt_ = true;
    const std::uint32_t copies = 2 + below(2);
    const Graph::Dealt dealt = g_.deal(t.all(), copies, "deal");
    Bundle merged;
    for (std::uint32_t i = 0; i < copies; ++i) {
      const StreamId mine = make(dealt.key, "mine", [=](Program& p) {
        return p.op(Scalar::eq, p.input(0), p.constant(u32, i));
      });
      Thread one = t;
      one.set(g_.filter(mine, true, dealt.out, "copy"));
      one.values[0] = make(one.values[0], "work", [](Program& p) {
        return p.op(Scalar::add, p.input(0), p.constant(u32, 3));
      });
      if (i == 0)
        merged = one.all();
      else
        merged = g_.merge(merged, one.all(), "collect");
    }
    c_.same.resize(g_.streams().size() - merged.size(), RandomCase::nothing);
    dealt_ = false;
    t.set(merged);
  }

  // --- memory

  Graph::When after(Thread& t, StreamId pred = no_stream) { return {pred, {t.order}}; }
  StreamId maybe_pred(Thread& t) { return chance(30) ? condition(any_value(t)) : no_stream; }

  void load(Thread& t) {
    const StreamId index = masked(any_value(t), (64u << below(6)) - 1);
    const auto [x, done] =
        g_.dram_load(chance(40) ? input_bytes : input, index, after(t, maybe_pred(t)), "load");
    t.order = done;
    const StreamId word = g_.stream(x).element == u32
                              ? x
                              : make(x, "word", [](Program& p) { return p.cast(u32, p.input(0)); });
    t.values[pick(t.free_to_change)] = word;
  }
  void store(Thread& t) {
    const StreamId index = masked(any_value(t), 511);
    t.order = g_.dram_store(squares, index, combined(index, index, Scalar::mul),
                            after(t, maybe_pred(t)), "store");
  }
  void atomic(Thread& t) {
    const bool adds = chance(50);
    const StreamId index = masked(any_value(t), chance(50) ? 63 : 3);
    const auto answer = g_.dram_atomic(adds ? sums : maxima, adds ? Atomic::add : Atomic::max,
                                       index, {any_value(t)}, after(t, maybe_pred(t)), "atomic");
    mark(RandomCase::lists);
    c_.same[answer.result] = RandomCase::nothing;
    t.order = answer.done;
  }

  /// A buffer of the thread's own.
  void with_buffer(Thread& t, unsigned nesting) {
    const bool bytes = chance(40);
    const Kind kind = bytes ? Kind::u8 : u32;
    const std::uint32_t size = 4u << below(5), pointers = 1 + below(chance(50) ? 3 : 40);
    const std::uint32_t sram = g_.sram("buffer", kind, size, pointers);
    const std::uint32_t pool = g_.pool("pool", pointers);
    const auto [pointer, got] = g_.alloc(pool, after(t), "alloc");
    t.order = got;
    t.values.push_back(pointer);
    const std::size_t place = t.values.size() - 1;
    const bool held = t.holds_pointer;
    if (chance(50)) {
      const StreamId base = masked(any_value(t), input_size - 1);
      const StreamId valid = make(masked(any_value(t), chance(40) ? 1 : 63), "valid",
                                  [](Program& p) { return p.cast(Kind::i32, p.input(0)); });
      Bundle position{base};
      if (chance(30)) position.push_back(constant(g_, base, 0));
      t.order = g_.bulk_load(bytes ? input_bytes : input, sram, pointer, position, valid, after(t),
                             "bulk_load");
      if (chance(60))
        t.order = g_.bulk_store(bytes ? copy_bytes : copy, sram, pointer, position, valid, after(t),
                                "bulk_store");
    } else {
      t.order = g_.sram_fill(sram, pointer, after(t), "fill");
    }
    t.holds_pointer = true;
    t.buffers.push_back({place, sram, false});
    access(t);
    statements(t, below(4), nesting);
    t.buffers.pop_back();
    t.order = g_.free(pool, t.values[place], after(t), "free");
    t.values.pop_back();
    t.holds_pointer = held;
  }

  void access(Thread& t) {
    if (t.buffers.empty()) return;
    const Thread::Buffer b = pick(t.buffers);
    const SramDecl sram = g_.srams()[b.sram];
    const StreamId pointer = t.values[b.place], index = masked(any_value(t), sram.size - 1);
    const std::uint32_t what = b.read_only ? 0 : below(3);
    if (what == 0 || (what == 2 && sram.element != u32)) {
      const auto [x, done] = g_.sram_load(b.sram, pointer, index, after(t, maybe_pred(t)), "read");
      t.order = done;
      t.values[pick(t.free_to_change)] =
          make(x, "word", [](Program& p) { return p.cast(u32, p.input(0)); });
    } else if (what == 1) {
      const StreamId value =
          make(any_value(t), "part", [&](Program& p) { return p.cast(sram.element, p.input(0)); });
      t.order = g_.sram_store(b.sram, pointer, index, value, after(t, maybe_pred(t)), "write");
    } else {
      const bool cas = chance(30);
      Bundle values{any_value(t)};
      if (cas) values.push_back(any_value(t));
      const auto [old, done] = g_.sram_atomic(b.sram, cas ? Atomic::cas : Atomic::add, pointer,
                                              index, values, after(t, maybe_pred(t)), "update");
      t.order = done;
      t.values[pick(t.free_to_change)] = old;
    }
  }

  void statements(Thread& t, unsigned count, unsigned nesting) {
    for (; count != 0 && g_.nodes().size() < nodes_left_; --count) {
      const std::uint32_t what = below(nesting < 3 ? 100 : 50);
      if (what < 16) {
        compute(t);
      } else if (what < 20) {
        StreamId& x = t.values[pick(t.free_to_change)];
        x = g_.buffer(x, 1 + below(40), "buffer");
      } else if (what < 25) {
        leave(t);
      } else if (what < 30) {
        load(t);
      } else if (what < 34) {
        store(t);
      } else if (what < 38) {
        atomic(t);
      } else if (what < 44) {
        access(t);
      } else if (what < 47) {
        use_outer(t);
      } else if (what < 50) {
        replicate(t);
      } else if (what < 53) {
        fork_(t);
      } else if (what < 65) {
        if_else(t, nesting + 1);
      } else if (what < 78) {
        while_loop(t, nesting + 1);
      } else if (what < 90) {
        foreach_(t, nesting + 1);
      } else {
        with_buffer(t, nesting + 1);
      }
    }
  }

  RandomCase& c_;
  Graph& g_;
  Random& r_;
  std::size_t nodes_left_ = 0;
  int loops_ = 0;
  unsigned forks_ = 0;
  bool dealt_ = false;
};

}  // namespace

RandomCase random_case(std::uint64_t seed) {
  Random r(seed * 0x9E3779B97F4A7C15u + 1);
  RandomCase c;
  Maker(c, r).make();
  c.machine = random_machine(r);
  c.mapping = random_mapping(c.graph, c.machine, r);
  return c;
}

std::vector<HostArray> bind(const Graph& graph, std::vector<std::vector<std::uint8_t>>& arrays) {
  std::vector<HostArray> bound;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    bound.push_back({arrays[i].data(), arrays[i].size() / Type{graph.drams()[i].element}.bytes()});
  return bound;
}

}  // namespace revet::sim::test
