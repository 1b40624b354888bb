#include "antichain/graph/vmap_context.h"

namespace antichain {

bool VmapContext::is_thin(int input) const {
  const Dims& shape = op_.input(input).shape();
  const Mapped& found = given(input);
  for (std::size_t i = 0; found.is_mapped && i < shape.size(); ++i) {
    if (found.value.shape()[i + 1] == Dim(1) && !(shape[i] == Dim(1))) {
      return true;
    }
  }
  return false;
}

std::vector<Var> VmapContext::values() const {
  std::vector<Var> all;
  for (int i = 0; i < num_inputs(); ++i) {
    all.push_back(value(i));
  }
  return all;
}

Var VmapContext::repeated(int input) const {
  const Var found = given(input).value;
  return is_mapped(input) && !is_thin(input)
             ? found
             : repeat_(found, with_copies(op_.input(input).shape()));
}

std::vector<Var> VmapContext::all_repeated() const {
  std::vector<Var> all;
  for (int i = 0; i < num_inputs(); ++i) {
    all.push_back(repeated(i));
  }
  return all;
}

Dims VmapContext::with_copies(const Dims& shape) const {
  Dims whole = {copies_};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

}  // namespace antichain
