// hash_queries, hash_data, rehash_rows: vectors are transformed and projected in blocks.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/hashing/hash_vector.h"
#include "antichain/ops/state/update_ops.h"
#ifdef ANTICHAIN_HAS_BLAS
#include "antichain/backends/cpu/products/blas_gemm.h"
#endif

namespace antichain::cpu {

namespace {

constexpr std::int64_t kVectorsPerBlock = 64;

// Hashes blocks of vectors; any thread may do so at any time.
class BlockHash {
 public:
  BlockHash(const HashSpec& spec, HashRole role, std::int64_t probes)
      : spec_(spec), role_(role), probes_(probes) {}

  std::int64_t codes_per_vector() const { return spec_.tables * probes_; }
  const HashSpec& spec() const { return spec_; }

  /// Returns the codes [count, tables, probes] of `count` vectors, in memory of this thread.
  /// vector(i) gives the features of one, extra(i) its bias.
  template <class Vector, class Extra>
  const std::int32_t* codes(std::int64_t count, const Tensor& functions, float largest,
                            Vector&& vector, Extra&& extra) const {
    const Room room = scratch(count);
    for (std::int64_t i = 0; i < count; ++i) {
      transform_vector<float>(spec_, role_, vector(i), extra(i), largest,
                              room.transformed + i * spec_.coordinates());
    }
    if (spec_.family == HashFamily::simhash) {
      project(count, room.transformed, functions.data<float>(), room.projections);
      if (probes_ == 1) {
        join_signs(count, room.projections, room.codes);
        return folded(count, room.codes);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      hash_vector<float>(spec_, room.transformed + i * spec_.coordinates(), functions.raw(),
                         room.projections + i * spec_.num_functions(), probes_,
                         room.codes + i * codes_per_vector(), room.order);
    }
    return folded(count, room.codes);
  }

 private:
  struct Room {
    float *transformed, *projections;
    std::int32_t* codes;
    std::span<std::int64_t> order;  // for minhash
  };

  Room scratch(std::int64_t count) const {
    const auto bytes = [count](std::int64_t per_vector) {
      return whole_cache_lines(static_cast<std::size_t>(count * per_vector) * sizeof(float));
    };
    const std::size_t vectors = bytes(spec_.coordinates()),
                      projections = bytes(spec_.num_functions());
    const std::size_t codes = bytes(codes_per_vector());
    const std::size_t order =
        spec_.family == HashFamily::minhash ? static_cast<std::size_t>(spec_.coordinates()) : 0;
    std::byte* const all = thread_scratch(
        vectors + projections + codes + order * sizeof(std::int64_t), ScratchUse::kernel);
    return {reinterpret_cast<float*>(all),
            reinterpret_cast<float*>(all + vectors),
            reinterpret_cast<std::int32_t*>(all + vectors + projections),
            {reinterpret_cast<std::int64_t*>(all + vectors + projections + codes), order}};
  }

  const std::int32_t* folded(std::int64_t count, std::int32_t* codes) const {
    if (spec_.folds()) {
      for (std::int64_t i = 0; i < count * codes_per_vector(); ++i) {
        codes[i] = spec_.folded(codes[i]);
      }
    }
    return codes;
  }

  void project(std::int64_t count, const float* vectors, const float* functions, float* out) const {
#ifdef ANTICHAIN_HAS_BLAS
    const BlasGemm gemm({.dtype = DType::f32,
                         .rows = count,
                         .columns = spec_.num_functions(),
                         .inner = spec_.coordinates(),
                         .a = {spec_.coordinates(), 1},
                         .b = {spec_.num_functions(), 1},
                         .out_row = spec_.num_functions()});
    gemm(vectors, functions, out);
#else
    for (std::int64_t i = 0; i < count; ++i) {
      project_vector(spec_, vectors + i * spec_.coordinates(), functions,
                     out + i * spec_.num_functions());
    }
#endif
  }

  void join_signs(std::int64_t count, const float* projections, std::int32_t* codes) const {
    for (std::int64_t t = 0; t < count * spec_.tables; ++t) {
      std::int32_t code = 0;
      for (std::int64_t k = 0; k < spec_.pieces; ++k) {
        code |= (projections[t * spec_.pieces + k] > 0 ? 1 : 0) << k;
      }
      codes[t] = code;
    }
  }

  HashSpec spec_;
  HashRole role_;
  std::int64_t probes_;
};

// Rows of a weight, with what hashes them.
struct DataRows {
  const BlockHash& hash;
  const float* weight;
  const float* bias;
  const Tensor& functions;
  float largest;
  std::int64_t rows;

  DataRows(const BlockHash& by, const KernelContext& context)
      : hash(by),
        weight(context.in(0).data<float>()),
        bias(context.in(1).data<float>()),
        functions(context.in(2)),
        largest(context.in(3).item<float>()),
        rows(context.in(0).shape()[0]) {}

  /// Writes the codes of some rows into [tables, rows]; row(i) gives the number of one.
  template <class Row>
  void write(std::int64_t count, Row&& row, std::int32_t* out) const {
    parallel_ranges(count, kVectorsPerBlock, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t features = hash.spec().features, tables = hash.spec().tables;
      const std::int32_t* const codes = hash.codes(
          last - first, functions, largest,
          [&](std::int64_t i) { return weight + row(first + i) * features; },
          [&](std::int64_t i) { return bias[row(first + i)]; });
      for (std::int64_t table = 0; table < tables; ++table) {
        for (std::int64_t i = 0; i < last - first; ++i) {
          out[table * rows + row(first + i)] = codes[i * tables + table];
        }
      }
    });
  }
};

Support takes_f32(Op op) {
  return op.input(0).dtype() == DType::f32 ? Support{} : Support::no("not f32");
}

KernelFunction plan_hash_queries(const KernelContext& context) {
  const HashSpec spec = HashSpec::of(*context.attrs);
  const BlockHash hash(spec, HashRole::query, context.attr<std::int64_t>("probes"));
  return [=](KernelContext& run) {
    const float* const x = run.in(0).data<float>();
    const float largest = run.in(2).item<float>();
    std::int32_t* const out = run.out().data<std::int32_t>();
    const std::int64_t per_vector = hash.codes_per_vector();
    parallel_ranges(run.in(0).shape()[0], kVectorsPerBlock / 4,
                    [&](std::int64_t first, std::int64_t last) {
                      const std::int32_t* const codes = hash.codes(
                          last - first, run.in(1), largest,
                          [&](std::int64_t i) { return x + (first + i) * spec.features; },
                          [](std::int64_t) { return 1.0F; });
                      std::copy_n(codes, (last - first) * per_vector, out + first * per_vector);
                    });
  };
}

KernelFunction plan_hash_data(const KernelContext& context) {
  const BlockHash hash(HashSpec::of(*context.attrs), HashRole::data, 1);
  return [=](KernelContext& run) {
    const DataRows data(hash, run);
    data.write(
        data.rows, [](std::int64_t i) { return i; }, run.out().data<std::int32_t>());
  };
}

KernelFunction plan_rehash_rows(const KernelContext& context) {
  const BlockHash hash(HashSpec::of(*context.attrs), HashRole::data, 1);
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  const auto chosen = std::make_shared<std::vector<std::int64_t>>(
      static_cast<std::size_t>(context.in(0).shape()[0]));
  return [=](KernelContext& run) {
    const DataRows data(hash, run);
    check_indices(run, 4, data.rows);
    bool* const marks = run.states->modify(names[1]).data<bool>();
    const std::int64_t* const used = run.in(4).data<std::int64_t>();
    for (std::int64_t k = 0; k < run.in(4).numel(); ++k) {
      marks[used[k]] = true;
    }
    if (run.in(5).item<bool>()) {
      const bool all = run.in(6).item<bool>();
      std::int64_t count = 0;
      for (std::int64_t row = 0; row < data.rows; ++row) {
        if (all || marks[row]) {
          (*chosen)[static_cast<std::size_t>(count++)] = row;
        }
      }
      std::fill_n(marks, data.rows, false);
      data.write(
          count, [&](std::int64_t i) { return (*chosen)[static_cast<std::size_t>(i)]; },
          run.states->modify(names[0]).data<std::int32_t>());
    }
    run.out() = run.states->get(names[0], *run.device);
  };
}

}  // namespace

void register_hash_codes(KernelTable& kernels) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    kernels.add(def, {.name = "blocks of vectors", .supports = takes_f32, .plan = plan});
  };
  add(hash_queries_def(), plan_hash_queries);
  add(hash_data_def(), plan_hash_data);
  add(rehash_rows_def(), plan_rehash_rows);
}

}  // namespace antichain::cpu
