// FunctionRef: a function passed down to be called, not to be kept. Unlike std::function it never
// allocates.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace antichain {

template <class Signature>
class FunctionRef;

/// Refers to something callable, which must live as long as the reference is used.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  // Implicit: a lambda is an argument like any other.
  template <class F>
  requires std::is_invocable_r_v<Result, const F&, Arguments...> FunctionRef(const F& f)
      : object_(std::addressof(f)), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const F*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* object_;
  Result (*call_)(const void* object, Arguments... arguments);
};

}  // namespace antichain
