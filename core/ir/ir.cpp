/// Structure of the IR: ownership, use lists, cloning, walking.
#include "revet/ir.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>

#include "revet/op_info.hpp"

namespace revet {

// --- Value --------------------------------------------------------------------------------------

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  while (!uses_.empty()) {
    const Use use = uses_.back();
    use.op->set_operand(use.index, other);
  }
}

// --- Region -------------------------------------------------------------------------------------

Region::~Region() {
  // Values of one block may be used in another, so every use goes before any definition.
  for (const auto& block : blocks_)
    for (Op& op : *block) op.drop_operands();
}

Block& Region::add_block() { return insert_block(blocks_.size()); }

Block& Region::insert_block(std::size_t at) {
  return **blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at),
                          std::make_unique<Block>(this));
}

void Region::erase_block(Block& b) {
  blocks_.erase(
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& p) { return p.get() == &b; }));
}

// --- Block --------------------------------------------------------------------------------------

Block::~Block() {
  for (Op& op : *this) op.drop_operands();
  while (last_) take(*last_);
}

Value* Block::add_arg(Type type, std::string name) {
  auto v = std::make_unique<Value>();
  v->type_ = type;
  v->name_ = std::move(name);
  v->block_ = this;
  v->index_ = num_args();
  args_.push_back(std::move(v));
  return args_.back().get();
}

void Block::erase_arg(unsigned index) {
  assert(args_[index]->unused());
  args_.erase(args_.begin() + index);
  for (unsigned i = index; i < args_.size(); ++i) args_[i]->index_ = i;
}

Op* Block::terminator() const {
  return last_ != nullptr && last_->info().terminator ? last_ : nullptr;
}

Op* Block::insert(std::unique_ptr<Op> owned, Op* before) {
  Op* op = owned.release();
  op->block_ = this;
  op->next_ = before;
  op->prev_ = before ? before->prev_ : last_;
  (op->prev_ ? op->prev_->next_ : first_) = op;
  (before ? before->prev_ : last_) = op;
  return op;
}

std::unique_ptr<Op> Block::take(Op& op) {
  assert(op.block_ == this);
  (op.prev_ ? op.prev_->next_ : first_) = op.next_;
  (op.next_ ? op.next_->prev_ : last_) = op.prev_;
  op.block_ = nullptr;
  op.next_ = op.prev_ = nullptr;
  return std::unique_ptr<Op>(&op);
}

void Block::splice(Op* before, Block& from) {
  while (from.first_) {
    Op* op = from.first_;
    insert(from.take(*op), before);
  }
}

// --- Op -----------------------------------------------------------------------------------------

std::unique_ptr<Op> Op::create(const OpInfo& info, Loc loc, std::span<Value* const> operands,
                               std::span<const Type> results, AttrMap attrs, unsigned regions) {
  std::unique_ptr<Op> op(new Op(info, loc));
  for (Value* v : operands) op->add_operand(v);
  for (const Type t : results) op->add_result(t);
  op->attrs_ = std::move(attrs);
  for (unsigned i = 0; i < regions; ++i) op->add_region();
  return op;
}

Op::Op(const OpInfo& info, Loc loc) : info_(&info), loc_(loc) {
  static std::atomic<std::uint64_t> last{0};
  serial_ = ++last;
}

Op::~Op() { drop_operands(); }

const std::string& Op::name() const { return info_->name; }

void Op::link(unsigned i) {
  auto& uses = operands_[i]->uses_;
  use_slots_[i] = static_cast<std::uint32_t>(uses.size());
  uses.push_back({this, i});
}

void Op::unlink(unsigned i) {
  // The last use takes the freed slot, so that a value with many uses loses each in constant time.
  auto& uses = operands_[i]->uses_;
  const Use moved = uses.back();
  uses[use_slots_[i]] = moved;
  moved.op->use_slots_[moved.index] = use_slots_[i];
  uses.pop_back();
}

void Op::set_operand(unsigned i, Value* v) {
  unlink(i);
  operands_[i] = v;
  link(i);
}

void Op::add_operand(Value* v) {
  operands_.push_back(v);
  use_slots_.push_back(0);
  link(num_operands() - 1);
}

void Op::erase_operand(unsigned i) {
  for (unsigned j = i; j < operands_.size(); ++j) unlink(j);
  operands_.erase(operands_.begin() + i);
  use_slots_.pop_back();
  for (unsigned j = i; j < operands_.size(); ++j) link(j);
}

void Op::set_operands(std::span<Value* const> values) {
  const std::vector<Value*> copy(values.begin(), values.end());
  while (num_operands() > 0) erase_operand(num_operands() - 1);
  for (Value* v : copy) add_operand(v);
}

void Op::drop_operands() {
  if (dropped_) return;
  dropped_ = true;
  for (unsigned i = num_operands(); i-- > 0;) unlink(i);
  operands_.clear();
  use_slots_.clear();
  for (const auto& region : regions_)
    for (const auto& block : region->blocks())
      for (Op& op : *block) op.drop_operands();
}

Value* Op::add_result(Type type, std::string name) {
  auto v = std::make_unique<Value>();
  v->type_ = type;
  v->name_ = std::move(name);
  v->op_ = this;
  v->index_ = num_results();
  results_.push_back(std::move(v));
  return results_.back().get();
}

void Op::erase_result(unsigned index) {
  assert(results_[index]->unused());
  results_.erase(results_.begin() + index);
  for (unsigned i = index; i < results_.size(); ++i) results_[i]->index_ = i;
}

const Attr* Op::attr(std::string_view name) const {
  const auto it = attrs_.find(name);
  return it == attrs_.end() ? nullptr : &it->second;
}

bool Op::flag(std::string_view name) const {
  const Attr* a = attr(name);
  return a && a->as_bool() && *a->as_bool();
}

std::int64_t Op::int_attr(std::string_view name, std::int64_t fallback) const {
  const Attr* a = attr(name);
  return a && a->as_int() ? *a->as_int() : fallback;
}

const std::string& Op::str_attr(std::string_view name) const {
  static const std::string empty;
  const Attr* a = attr(name);
  return a && a->as_string() ? *a->as_string() : empty;
}

void Op::remove_attr(std::string_view name) {
  const auto it = attrs_.find(name);
  if (it != attrs_.end()) attrs_.erase(it);
}

Region& Op::add_region() {
  regions_.push_back(std::make_unique<Region>(this));
  return *regions_.back();
}

std::span<Value* const> Op::successor_args(unsigned i) const {
  unsigned from_end = 0;
  for (unsigned j = i; j < successors_.size(); ++j) from_end += successors_[j].args;
  return std::span(operands_).subspan(operands_.size() - from_end, successors_[i].args);
}

std::span<Value* const> Op::own_operands() const {
  std::size_t passed = 0;
  for (const Successor& s : successors_) passed += s.args;
  return std::span(operands_).first(operands_.size() - passed);
}

void Op::add_successor(Block* b, std::span<Value* const> args) {
  for (Value* v : args) add_operand(v);
  successors_.push_back({b, static_cast<unsigned>(args.size())});
}

void Op::move_before(Op& other) {
  if (&other == this) return;
  other.block()->insert(block_->take(*this), &other);
}

void Op::erase() {
  assert(std::all_of(results_.begin(), results_.end(), [](const auto& r) { return r->unused(); }));
  block_->take(*this);  // the owner returned is the end of it
}

// --- Module and cloning -------------------------------------------------------------------------

Op* Module::find_func(std::string_view sym) const {
  for (Op& op : body())
    if (op.name() == "thread.func" && op.str_attr("sym") == sym) return &op;
  return nullptr;
}

namespace {

void clone_into(Region& to, const Region& from, Cloning& cloning,
                std::vector<std::pair<Op*, const Op*>>& made);

Op* clone_shell(const Op& op, Cloning& cloning, std::vector<std::pair<Op*, const Op*>>& made,
                std::unique_ptr<Op>& out) {
  out = Op::create(op.info(), op.loc(), {}, {}, op.attrs(), op.num_regions());
  for (const auto& r : op.results())
    cloning.values[r.get()] = out->add_result(r->type(), r->name());
  made.emplace_back(out.get(), &op);
  for (unsigned i = 0; i < op.num_regions(); ++i)
    clone_into(out->region(i), op.region(i), cloning, made);
  return out.get();
}

void clone_into(Region& to, const Region& from, Cloning& cloning,
                std::vector<std::pair<Op*, const Op*>>& made) {
  for (const auto& block : from.blocks()) {
    Block& copy = to.add_block();
    cloning.blocks[block.get()] = &copy;
    for (const auto& arg : block->args())
      cloning.values[arg.get()] = copy.add_arg(arg->type(), arg->name());
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (Op& op : *from.blocks()[i]) {
      std::unique_ptr<Op> copy;
      clone_shell(op, cloning, made, copy);
      to.blocks()[to.size() - from.size() + i]->insert(std::move(copy));
    }
  }
}

/// Operands come last, since a value may be used before the op that defines it was copied.
void connect(const Cloning& cloning, const std::vector<std::pair<Op*, const Op*>>& made) {
  for (const auto& [copy, op] : made) {
    for (Value* v : op->own_operands()) copy->add_operand(cloning.map(v));
    for (unsigned i = 0; i < op->num_successors(); ++i) {
      std::vector<Value*> args;
      for (Value* v : op->successor_args(i)) args.push_back(cloning.map(v));
      const auto it = cloning.blocks.find(op->successor(i));
      copy->add_successor(it == cloning.blocks.end() ? op->successor(i) : it->second, args);
    }
  }
}

}  // namespace

std::unique_ptr<Op> clone_op(const Op& op, Cloning& cloning) {
  std::vector<std::pair<Op*, const Op*>> made;
  std::unique_ptr<Op> out;
  clone_shell(op, cloning, made, out);
  connect(cloning, made);
  return out;
}

std::unique_ptr<Module> Module::clone() const {
  auto out = std::make_unique<Module>();
  Cloning cloning;
  std::vector<std::pair<Op*, const Op*>> made;
  for (Op& op : body()) {
    std::unique_ptr<Op> copy;
    clone_shell(op, cloning, made, copy);
    out->body().insert(std::move(copy));
  }
  connect(cloning, made);
  for (const auto& [copy, op] : made) copy->serial_ = op->serial_;
  return out;
}

void Module::take(Module& other) {
  for (Op& op : body()) op.drop_operands();
  while (Op* op = body().last()) body().take(*op);
  body().splice(nullptr, other.body());
}

void walk(Op& op, const std::function<void(Op&)>& f) {
  f(op);
  for (const auto& region : op.regions()) walk(*region, f);
}

void walk(const Block& block, const std::function<void(Op&)>& f) {
  for (Op& op : block) walk(op, f);
}

void walk(const Region& region, const std::function<void(Op&)>& f) {
  for (const auto& block : region.blocks()) walk(*block, f);
}

void walk(const Module& module, const std::function<void(Op&)>& f) { walk(module.body(), f); }

bool is_ancestor(const Op* outer, const Op* inner) {
  for (; inner; inner = inner->parent_op())
    if (inner == outer) return true;
  return false;
}

}  // namespace revet
