#include "machine.hpp"

#include "messages.hpp"
#include "revet/diagnostics.hpp"

namespace revet::interp {
namespace {

constexpr std::uint32_t stop = none;  ///< the place where main's last thread goes

std::int32_t as_signed(std::uint32_t x) { return static_cast<std::int32_t>(x); }
std::uint32_t truth(bool b) { return b ? 1u : 0u; }

}  // namespace

Machine::Machine(const Program& program, Launch& launch, const MachineOptions& options,
                 Races* races)
    : program_(program),
      options_(options),
      races_(races),
      memory_(program, launch, races),
      registers_(program.registers),
      activations_(program.levels.size()),
      random_(options.seed) {
  if (launch.scalars.size() != program.params.size())
    throw InternalError("the launch has other arguments than main");
  for (std::size_t i = 0; i < program.params.size(); ++i)
    registers_[program.params[i]] = launch.scalars[i].bits;
}

Order Machine::order(std::uint64_t n) {
  if (options_.seed == 0 || n < 2) return {};
  random_ = mix(random_);
  return {n, random_ | 1};
}

// --- threads ---

std::uint32_t Machine::start_foreach(std::uint32_t id, std::uint32_t place) {
  const ThreadLevel& level = program_.levels[id];
  Activation& activation = activations_[id];
  activation.lo = registers_[level.lo];
  activation.step = registers_[level.step];
  if (activation.step == 0)
    throw Error(Exit::program, program_.origin[place]->loc(), messages::step_is_zero);
  activation.count = trip_count(level.kind, activation.lo, registers_[level.hi], activation.step);
  activation.started = 0;
  activation.order = order(activation.count);
  activation.totals.resize(level.reductions.size());
  for (std::size_t i = 0; i < level.reductions.size(); ++i) {
    const LevelReduction& reduction = level.reductions[i];
    const std::uint64_t blocks =
        reduction.kind == Kind::f32 ? activation.count / reduction_block + 1 : 1;
    activation.totals[i].assign(blocks, reduction.reduction.identity);
  }
  threads_ += activation.count;
  if (races_) activation.mark = races_->enter();
  if (activation.count == 0) {
    finish(id);
    return level.after;
  }
  start_child(id);
  return level.body;
}

void Machine::start_child(std::uint32_t id) {
  const ThreadLevel& level = program_.levels[id];
  Activation& activation = activations_[id];
  activation.child = activation.order(activation.started++);
  const auto distance = static_cast<std::uint32_t>(activation.child) * activation.step;
  registers_[level.index] = wrap(level.kind, activation.lo + distance);
  if (races_) races_->next(activation.mark);
}

void Machine::contribute(std::uint32_t id) {
  const ThreadLevel& level = program_.levels[id];
  Activation& activation = activations_[id];
  for (std::size_t i = 0; i < level.reductions.size(); ++i) {
    const LevelReduction& reduction = level.reductions[i];
    const std::uint64_t block =
        reduction.kind == Kind::f32 ? activation.child / reduction_block : 0;
    std::uint32_t& total = activation.totals[i][block];
    total =
        apply(reduction.reduction.op, reduction.kind, total, registers_[reduction.contribution]);
  }
}

/// The results of a foreach, when all its threads have ended.
void Machine::finish(std::uint32_t id) {
  const ThreadLevel& level = program_.levels[id];
  Activation& activation = activations_[id];
  for (std::size_t i = 0; i < level.reductions.size(); ++i) {
    const LevelReduction& reduction = level.reductions[i];
    std::uint32_t total = activation.totals[i].front();
    for (std::size_t block = 1; block < activation.totals[i].size(); ++block)
      total = apply(reduction.reduction.op, reduction.kind, total, activation.totals[i][block]);
    registers_[reduction.result] = total;
  }
  if (races_) races_->leave(activation.mark);
}

/// Where to go on after a thread of the level has ended: in a thread that was forked, in the next
/// child, or in the parent.
std::uint32_t Machine::end_thread(std::uint32_t id) {
  Activation& activation = activations_[id];
  if (!activation.pending.empty()) {
    const std::uint32_t at = activation.pending.back().at;
    resume(id);
    return at;
  }
  memory_.close_leftovers(id);
  if (activation.started < activation.count) {
    start_child(id);
    return program_.levels[id].body;
  }
  if (id == 0) return stop;
  finish(id);
  return program_.levels[id].after;
}

std::uint32_t Machine::fork(const Instr& instr, std::uint32_t next) {
  const std::uint32_t id = instr.b;
  const std::uint32_t n = registers_[instr.a];
  if (n == 0 || (Type{instr.kind}.is_signed() && as_signed(n) < 0)) return end_thread(id);
  threads_ += n - 1;
  if (n == 1) {
    registers_[instr.dst] = 0;
    return next;
  }
  Pending made{
      .next = 1, .count = n, .order = order(n), .at = next, .index = instr.dst, .mark = {}};
  if (races_) {
    made.mark = races_->enter();
    races_->next(made.mark);
  }
  Activation& activation = activations_[id];
  for (const auto& [first, last] : program_.levels[id].registers)
    activation.saved.insert(activation.saved.end(), registers_.begin() + first,
                            registers_.begin() + last);
  registers_[instr.dst] = static_cast<std::uint32_t>(made.order(0));
  activation.pending.push_back(made);
  return next;
}

/// Puts the next thread of the latest fork in place.
void Machine::resume(std::uint32_t id) {
  Activation& activation = activations_[id];
  Pending& pending = activation.pending.back();
  const auto& ranges = program_.levels[id].registers;
  std::size_t size = 0;
  for (const auto& [first, last] : ranges) size += last - first;
  const auto start = activation.saved.end() - static_cast<std::ptrdiff_t>(size);
  auto from = start;
  for (const auto& [first, last] : ranges) {
    std::copy(from, from + (last - first), registers_.begin() + first);
    from += last - first;
  }
  registers_[pending.index] = static_cast<std::uint32_t>(pending.order(pending.next++));
  if (races_) races_->next(pending.mark);
  if (pending.next < pending.count) return;
  activation.saved.erase(start, activation.saved.end());
  activation.pending.pop_back();
}

// --- memory ---

std::uint32_t Machine::atomic(const Instr& instr, std::uint32_t old) const {
  const auto op = static_cast<Atomic>(instr.aux);
  return apply(op, instr.kind, old, registers_[instr.c],
               op == Atomic::cas ? registers_[instr.d] : 0);
}

void Machine::dram(const Instr& in, std::uint32_t place) {
  Array& array = memory_.array(in.a);
  const std::int64_t signed_i = index(in);
  const auto i = static_cast<std::uint64_t>(signed_i);
  const bool inside = i < array.count;
  switch (in.code) {
    case Code::dram_load:
      if (!inside) memory_.outside(place, signed_i, array.count, "read");
      if (array.shadow) races_->read(*array.shadow, i, place);
      registers_[in.dst] = load_as(in.kind, array.data, i);
      break;
    case Code::dram_store:
      if (!inside) memory_.outside(place, signed_i, array.count, "write");
      if (array.shadow) races_->write(*array.shadow, i, place);
      store_as(in.kind, array.data, i, registers_[in.c]);
      break;
    default: {
      if (!inside) memory_.outside(place, signed_i, array.count, "atomic");
      if (array.shadow) races_->atomic(*array.shadow, i, place);
      const std::uint32_t old = load_as(in.kind, array.data, i);
      store_as(in.kind, array.data, i, atomic(in, old));
      registers_[in.dst] = old;
    }
  }
}

/// Elements of SRAMs and views.
void Machine::on_chip(const Instr& in, std::uint32_t place) {
  Object& object = memory_.object(registers_[in.a], place);
  const std::int64_t signed_i = index(in);
  const auto i = static_cast<std::uint64_t>(signed_i);
  if (i >= object.size) {
    if (object.mode != Mode::sram) memory_.outside(place, signed_i, object);
    memory_.outside(place, signed_i, object.size,
                    in.code == Code::sram_load    ? "read"
                    : in.code == Code::sram_store ? "write"
                                                  : "atomic");
  }
  switch (in.code) {
    case Code::sram_load:
    case Code::view_load:
      if (object.shadow) races_->read(*object.shadow, i, place);
      registers_[in.dst] = load_as(in.kind, object.data.data(), i);
      break;
    case Code::view_store:
      if (i < object.first || i >= object.last) return;
      [[fallthrough]];
    case Code::sram_store:
      if (object.shadow) races_->write(*object.shadow, i, place);
      store_as(in.kind, object.data.data(), i, registers_[in.c]);
      break;
    default: {
      if (object.shadow) races_->atomic(*object.shadow, i, place);
      const std::uint32_t old = load_as(in.kind, object.data.data(), i);
      const std::uint32_t changed = atomic(in, old);
      store_as(in.kind, object.data.data(), i, changed);
      registers_[in.dst] = old;
      if (races_ && (in.flags & Instr::join) && changed == 0) races_->join(object.since);
    }
  }
}

void Machine::bulk(const Instr& in, std::uint32_t place) {
  const auto base = static_cast<std::int64_t>(std::uint64_t{registers_[in.c]} << 32 |
                                              std::uint64_t{registers_[in.b]});
  const auto valid = static_cast<std::int32_t>(registers_[in.d]);
  memory_.bulk(registers_[in.a], in.dst, base, valid, in.code == Code::bulk_load, place);
}

void Machine::iterate(const Instr& in, std::uint32_t place) {
  Object& it = memory_.object(registers_[in.a], place);
  switch (in.code) {
    case Code::iter_load: registers_[in.dst] = memory_.iter_load(it, place); break;
    case Code::iter_peek: registers_[in.dst] = memory_.iter_peek(it, index(in), place); break;
    case Code::iter_store: memory_.iter_store(it, registers_[in.c]); break;
    case Code::iter_next: memory_.iter_next(it, registers_[in.b], place); break;
    default: memory_.iter_next_last(it, registers_[in.b] != 0, place);
  }
}

// --- the loop ---

void Machine::run() {
  threads_ = 1;
  activations_[0].count = activations_[0].started = 1;
  if (races_) {
    activations_[0].mark = races_->enter();
    races_->next(activations_[0].mark);
  }
  const Instr* const code = program_.code.data();
  std::uint32_t* const r = registers_.data();
  const std::uint64_t limit = options_.max_steps != 0 ? options_.max_steps : ~std::uint64_t{0};
  std::uint64_t steps = 0;
  std::uint32_t at = 0;
  while (at != stop) {
    const std::uint32_t place = at++;
    const Instr& in = code[place];
    if (steps++ == limit)
      throw Error(
          Exit::unfinished, program_.origin[place]->loc(),
          "the program did not end within max-steps = " + std::to_string(limit) + " operations");
    switch (in.code) {
      case Code::add: r[in.dst] = r[in.a] + r[in.b]; break;
      case Code::sub: r[in.dst] = r[in.a] - r[in.b]; break;
      case Code::mul: r[in.dst] = r[in.a] * r[in.b]; break;
      case Code::and_: r[in.dst] = r[in.a] & r[in.b]; break;
      case Code::or_: r[in.dst] = r[in.a] | r[in.b]; break;
      case Code::xor_: r[in.dst] = r[in.a] ^ r[in.b]; break;
      case Code::shl: r[in.dst] = r[in.a] << (r[in.b] & 31u); break;
      case Code::shr_u: r[in.dst] = r[in.a] >> (r[in.b] & 31u); break;
      case Code::shr_s:
        r[in.dst] = static_cast<std::uint32_t>(as_signed(r[in.a]) >> (r[in.b] & 31u));
        break;
      case Code::eq: r[in.dst] = truth(r[in.a] == r[in.b]); break;
      case Code::ne: r[in.dst] = truth(r[in.a] != r[in.b]); break;
      case Code::lt_s: r[in.dst] = truth(as_signed(r[in.a]) < as_signed(r[in.b])); break;
      case Code::le_s: r[in.dst] = truth(as_signed(r[in.a]) <= as_signed(r[in.b])); break;
      case Code::lt_u: r[in.dst] = truth(r[in.a] < r[in.b]); break;
      case Code::le_u: r[in.dst] = truth(r[in.a] <= r[in.b]); break;
      case Code::fadd: r[in.dst] = as_bits(as_float(r[in.a]) + as_float(r[in.b])); break;
      case Code::fsub: r[in.dst] = as_bits(as_float(r[in.a]) - as_float(r[in.b])); break;
      case Code::fmul: r[in.dst] = as_bits(as_float(r[in.a]) * as_float(r[in.b])); break;
      case Code::binary:
        r[in.dst] = apply(static_cast<Scalar>(in.aux), in.kind, r[in.a], r[in.b]);
        break;
      case Code::unary: r[in.dst] = apply(static_cast<Scalar>(in.aux), in.kind, r[in.a]); break;
      case Code::cast: r[in.dst] = convert(in.kind, static_cast<Kind>(in.aux), r[in.a]); break;
      case Code::select: r[in.dst] = r[in.a] != 0 ? r[in.b] : r[in.c]; break;
      case Code::wrap: r[in.dst] = wrap(in.kind, r[in.a]); break;
      case Code::move: r[in.dst] = r[in.a]; break;
      case Code::jump: at = in.a; break;
      case Code::branch_unless:
        if (r[in.a] == 0) at = in.b;
        break;
      case Code::fork: at = fork(in, at); break;
      case Code::foreach_: at = start_foreach(in.a, place); break;
      case Code::end_child:
        contribute(in.a);
        at = end_thread(in.a);
        break;
      case Code::end_thread: at = end_thread(in.a); break;
      case Code::open_sram:
        r[in.dst] =
            in.pred == none || r[in.pred] != 0 ? memory_.open_sram(in.a, place) : Memory::no_buffer;
        break;
      case Code::open_view: {
        std::int64_t valid = program_.sites[in.a].size;
        if (in.c != none)
          valid = (in.flags & Instr::signed_valid) ? as_signed(r[in.c]) : std::int64_t{r[in.c]};
        r[in.dst] = memory_.open_view(in.a, index(in), valid, place);
        break;
      }
      case Code::open_iter: r[in.dst] = memory_.open_iter(in.a, index(in), place); break;
      case Code::dram_size:
        r[in.dst] = static_cast<std::uint32_t>(memory_.array(in.a).count >> (32 * in.aux));
        break;
      case Code::close:
        if (in.pred == none || r[in.pred] != 0) memory_.close(r[in.a], place);
        break;
      default: {
        if (in.code == Code::bulk_load || in.code == Code::bulk_store) {
          if (in.pred == none || r[in.pred] != 0) bulk(in, place);
        } else if (in.pred != none && r[in.pred] == 0) {
          if (in.dst != none) r[in.dst] = 0;
        } else if (in.code <= Code::dram_atomic) {
          dram(in, place);
        } else if (in.code <= Code::view_store) {
          on_chip(in, place);
        } else {
          iterate(in, place);
        }
      }
    }
  }
}

}  // namespace revet::interp
