/// Spellings of the syntax tree's enums.
#include "ast.hpp"

namespace revet::ast {

const char* spelling(Operator op) {
  switch (op) {
    case Operator::lor: return "||";
    case Operator::land: return "&&";
    case Operator::or_: return "|";
    case Operator::xor_: return "^";
    case Operator::and_: return "&";
    case Operator::eq: return "==";
    case Operator::ne: return "!=";
    case Operator::lt: return "<";
    case Operator::gt: return ">";
    case Operator::le: return "<=";
    case Operator::ge: return ">=";
    case Operator::shl: return "<<";
    case Operator::shr: return ">>";
    case Operator::add:
    case Operator::plus: return "+";
    case Operator::sub:
    case Operator::neg: return "-";
    case Operator::mul:
    case Operator::deref: return "*";
    case Operator::div: return "/";
    case Operator::rem: return "%";
    case Operator::lnot: return "!";
    case Operator::compl_: return "~";
    case Operator::none: break;
  }
  return "";
}

const char* spelling(MemoryForm form) {
  switch (form) {
    case MemoryForm::dram: return "DRAM";
    case MemoryForm::sram: return "SRAM";
    case MemoryForm::read_view: return "ReadView";
    case MemoryForm::write_view: return "WriteView";
    case MemoryForm::modify_view: return "ModifyView";
    case MemoryForm::read_it: return "ReadIt";
    case MemoryForm::peek_read_it: return "PeekReadIt";
    case MemoryForm::write_it: return "WriteIt";
    case MemoryForm::manual_write_it: return "ManualWriteIt";
  }
  return "";
}

std::string with_article(MemoryForm form) {
  if (form == MemoryForm::dram) return "a DRAM array";
  return std::string(form == MemoryForm::sram ? "an " : "a ") + spelling(form);
}

}  // namespace revet::ast
