#include "antichain/ops/elementwise/elementwise.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

using Unary = Var (*)(const Operand&);
using Binary = Var (*)(const Operand&, const Operand&);

Builder of_one(Unary function) {
  return [function](const Case&, const Vars& in) -> Vars { return {function(in.at(0))}; };
}

Builder of_two(Binary function) {
  return [function](const Case& c, const Vars& in) -> Vars {
    return {function(in.at(0), c.flag("same") ? in[0] : in.at(1))};
  };
}

}  // namespace

Builders elementwise_builders() {
  Builders table;
  const std::initializer_list<std::pair<const char*, Unary>> unary = {{"negate", negate},
                                                                      {"abs", abs},
                                                                      {"sign", sign},
                                                                      {"floor", floor},
                                                                      {"ceil", ceil},
                                                                      {"round", round},
                                                                      {"exp", exp},
                                                                      {"expm1", expm1},
                                                                      {"log", log},
                                                                      {"log1p", log1p},
                                                                      {"sqrt", sqrt},
                                                                      {"rsqrt", rsqrt},
                                                                      {"reciprocal", reciprocal},
                                                                      {"sin", sin},
                                                                      {"square", square},
                                                                      {"cos", cos},
                                                                      {"erf", erf},
                                                                      {"tanh", tanh},
                                                                      {"sigmoid", sigmoid},
                                                                      {"relu", relu},
                                                                      {"softplus", softplus},
                                                                      {"gelu", gelu},
                                                                      {"silu", silu},
                                                                      {"logical_not", logical_not},
                                                                      {"is_finite", is_finite}};
  for (const auto& [name, function] : unary) {
    table[name] = of_one(function);
  }
  const std::initializer_list<std::pair<const char*, Binary>> binary = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"floor_divide", floor_divide},
      {"modulo", modulo},
      {"pow", pow},
      {"minimum", minimum},
      {"maximum", maximum},
      {"equal", equal},
      {"not_equal", not_equal},
      {"less", less},
      {"less_equal", less_equal},
      {"greater", greater},
      {"greater_equal", greater_equal},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"logical_xor", logical_xor}};
  for (const auto& [name, function] : binary) {
    table[name] = of_two(function);
  }
  table["pow_number"] = [](const Case& c, const Vars& in) -> Vars {
    return {pow(in.at(0), c.get<double>("exponent"))};
  };
  table["clip"] = [](const Case& c, const Vars& in) -> Vars {
    return {clip(in.at(0), c.get<double>("low"), c.get<double>("high"))};
  };
  table["select"] = [](const Case&, const Vars& in) -> Vars {
    return {select(in.at(0), in.at(1), in.at(2))};
  };
  table["cast"] = [](const Case& c, const Vars& in) -> Vars {
    return {cast(in.at(0), parse_dtype(c.get<std::string>("dtype")))};
  };
  return table;
}

}  // namespace antichain::peer
