#include "antichain/engines/likelihood/noise_sites.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "antichain/graph/traversal.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/state/noise_site.h"

namespace antichain::likelihood {

namespace {

// How a value depends on the parameters: not, without a product in between, or otherwise.
enum class Use { none, direct, behind };

// "encoder.first" of "encoder.first.weight".
std::string scope_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

struct Dependence {
  Use use = Use::none;
  std::string scope = {};  // of the parameter, where it is direct
};

// A region and how its values depend on the parameters.
class Level {
 public:
  Level(Graph& graph, RegionId region, const std::vector<Dependence>& given, Op chain)
      : graph_(graph), chain_(chain), ops_(schedule_region(graph, region)) {
    const std::vector<Var> params = graph.vars(graph.region(region).params);
    for (std::size_t i = 0; i < params.size(); ++i) {
      known_[params[i].id()] = given[i];
    }
    for (Op op : ops_) {
      Dependence most;
      for (Var input : op.inputs()) {
        readers_[input.id()].push_back(op);
        most = use_of(input) > most.use ? known_.at(input.id()) : most;
      }
      if (most.use == Use::direct && (is_product(op) || !op.regions().empty())) {
        most.use = Use::behind;
      }
      for (Var output : op.outputs()) {
        known_[output.id()] = most;
      }
    }
    for (VarId result : graph.region(region).results) {
      results_.insert(result);
    }
  }

  void find(bool named, std::vector<Site>& sites) {
    for (Op op : ops_) {
      if (&op.def() == &chain_def() && !chain_.valid()) {
        find_in_chain(op, named, sites);
      } else if (named && &op.def() == &noise_site_def()) {
        Site site = site_at(op.output(), op.attrs().get<std::string>("label"));
        if (op.num_inputs() == 2) {
          site.spread = op.input(1);
          site.has_factor = op.attrs().get<bool>("has_factor");
          site.learns_spread = use_of(op.input(1)) != Use::none;
        }
        sites.push_back(site);
      } else if (!named && is_product(op)) {
        add_product(op, sites);
      }
    }
  }

 private:
  Use use_of(Var value) const {
    const auto found = known_.find(value.id());
    return found == known_.end() ? Use::none : found->second.use;
  }

  void add_product(Op op, std::vector<Site>& sites) {
    const std::vector<Var> inputs = op.inputs();
    // The last of several is the weight, the others what a table says.
    const auto direct = std::ranges::find(inputs.rbegin(), inputs.rend(), Use::direct,
                                          [this](Var input) { return use_of(input); });
    if (direct == inputs.rend()) {
      return;
    }
    const Site site = site_at(with_bias(op.output()), known_.at(direct->id()).scope);
    const auto is_same = [&site](const Site& known) { return known.value == site.value; };
    if (std::ranges::none_of(sites, is_same)) {
      sites.push_back(site);
    }
  }

  void find_in_chain(Op op, bool named, std::vector<Site>& sites) {
    const ChainLayout layout(op);
    std::vector<Dependence> inside(1);  // the step
    for (int i = 0; i < op.num_inputs(); ++i) {
      inside.push_back(i < layout.states ? Dependence{Use::behind} : known_[op.input(i).id()]);
    }
    Level(graph_, op.regions()[0], inside, op).find(named, sites);
  }

  // Goes on from a product to where a bias has been added, a sparse matrix multiplied by, and a
  // batch normalised: noise there is noise on what the layer hands on.
  Var with_bias(Var product) {
    for (;;) {
      const std::vector<Op>& readers = readers_[product.id()];
      if (readers.size() != 1 || results_.contains(product.id())) {
        return product;
      }
      const Op reader = readers[0];
      const bool adds_bias =
          &reader.def() == &add_def() && reader.output().shape() == product.shape() &&
          use_of(reader.input(reader.input(0) == product ? 1 : 0)) == Use::direct;
      const bool spreads =
          &reader.def() == &csr_matmul_def() && reader.input(reader.num_inputs() - 1) == product;
      const bool normalises = &reader.def() == &batch_norm_def() && reader.input(0) == product;
      if (!adds_bias && !spreads && !normalises) {
        return product;
      }
      product = reader.output(0);
    }
  }

  Site site_at(Var value, std::string scope) {
    static const OpDef& relu_op = find_op("relu");
    const std::vector<Op>& readers = readers_[value.id()];
    const bool is_before_relu =
        !readers.empty() && !results_.contains(value.id()) &&
        std::ranges::all_of(readers, [](Op reader) { return &reader.def() == &relu_op; });
    return {.value = value,
            .chain = chain_,
            .scope = std::move(scope),
            .is_before_relu = is_before_relu};
  }

  Graph& graph_;
  Op chain_;
  std::vector<Op> ops_;
  std::unordered_map<VarId, Dependence> known_;
  std::unordered_set<VarId> results_;
  std::unordered_map<VarId, std::vector<Op>> readers_;
};

// Of a recurrent layer "gru": "gru.input", its product with the input, and "gru.state", that of its
// steps; of others in one scope: "block", "block#2".
void name_sites(std::vector<Site>& sites) {
  const auto shares_scope = [&](const Site& site, bool in_chain) {
    return std::ranges::any_of(sites, [&](const Site& other) {
      return other.scope == site.scope && other.chain.valid() == in_chain;
    });
  };
  std::unordered_map<std::string, int> counts;
  for (Site& site : sites) {
    site.name = site.scope;
    if (shares_scope(site, !site.chain.valid())) {
      site.name += site.chain.valid() ? ".state" : ".input";
    }
    if (const int count = ++counts[site.name]; count > 1) {
      site.name += "#" + std::to_string(count);
    }
  }
}

}  // namespace

bool is_product(Op op) {
  static const std::array<const OpDef*, 4> kProducts = {
      &find_op("matmul"), &find_op("conv"), &find_op("conv_transpose"), &csr_matmul_def()};
  return std::ranges::find(kProducts, &op.def()) != kProducts.end() &&
         is_float(op.output().dtype());
}

Dims Site::shape() const {
  Dims shape = value.shape();
  if (chain.valid()) {
    shape.insert(shape.begin(), chain.attrs().get<Dim>("length"));
  }
  return shape;
}

std::vector<Site> find_sites(Op op, const std::vector<bool>& is_learned) {
  Graph& graph = op.graph();
  std::vector<Dependence> inputs;
  for (int i = 0; i < op.num_inputs(); ++i) {
    const bool learned = is_learned[static_cast<std::size_t>(i)];
    inputs.push_back(learned ? Dependence{Use::direct, scope_of(graph.origin(op.input(i)).name())}
                             : Dependence{});
  }
  std::vector<Site> sites;
  for (const bool named : {true, false}) {
    Level(graph, op.regions()[0], inputs, {}).find(named, sites);
    if (!sites.empty()) {
      break;
    }
  }
  name_sites(sites);
  return sites;
}

}  // namespace antichain::likelihood
