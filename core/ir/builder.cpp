#include "revet/builder.hpp"

#include "revet/scalar.hpp"

namespace revet {

Value* Builder::constant(Type type, std::int64_t value) {
  return constant_of_bits(type, type.is_float() ? as_bits(static_cast<float>(value))
                                                : static_cast<std::uint32_t>(value));
}

Value* Builder::constant(float value) { return constant_of_bits(type_f32, as_bits(value)); }

Value* Builder::constant_of_bits(Type type, std::uint32_t bits) {
  const std::uint32_t wrapped = wrap(type.kind, bits);
  Attr value;
  if (type.is_float())
    value = Attr(as_float(bits));
  else if (type.is_signed())
    value = Attr(std::int64_t{static_cast<std::int32_t>(wrapped)});
  else
    value = Attr(std::int64_t{wrapped});
  return create(ops::arith_constant, {}, {type}, {{"value", std::move(value)}})->result();
}

}  // namespace revet
