#include "antichain/train/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace antichain {

namespace {

constexpr std::chrono::milliseconds kRedraw{100}, kLine{1000};  // least time between two
constexpr std::size_t kWidestBar = 30;

bool is_terminal(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t columns(std::FILE* stream) {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

// At most five letters: "9876", "12k".
std::string short_number(double value) {
  constexpr double kLong = 10'000;
  return value < kLong ? fmt::format("{:.0f}", value) : fmt::format("{:.0f}k", value / 1000);
}

std::string describe(const TrainProgress& progress, double seconds) {
  const auto done = static_cast<double>(progress.step - progress.first_step);
  const auto missing = static_cast<double>(progress.steps - progress.step);
  const auto left = static_cast<std::int64_t>(std::ceil(missing * seconds / std::max(1.0, done)));
  const std::string accuracy = std::isnan(progress.accuracy)
                                   ? std::string()
                                   : fmt::format("  accuracy {:5.1f}%", 100 * progress.accuracy);
  return fmt::format("loss {:.4f}{}  {} samples/s  {}:{:02} left", progress.loss, accuracy,
                     short_number(static_cast<double>(progress.samples) / seconds), left / 60,
                     left % 60);
}

std::string bar(const TrainProgress& progress, std::size_t width) {
  const auto full = width * static_cast<std::size_t>(std::min(progress.step, progress.steps)) /
                    static_cast<std::size_t>(progress.steps);
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "] ";
}

}  // namespace

ProgressBar::ProgressBar(std::FILE* stream) : stream_(stream), terminal_(is_terminal(stream)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) {
    write("\n");
  }
}

void ProgressBar::update(const TrainProgress& progress) {
  const Clock::time_point now = Clock::now();
  const bool finished = progress.step == progress.steps;
  if (!finished && now - last_ < (terminal_ ? kRedraw : kLine)) {
    return;
  }
  last_ = now;
  draw(progress, std::max(1e-9, std::chrono::duration<double>(now - start_).count()));
}

void ProgressBar::draw(const TrainProgress& progress, double seconds) {
  const std::string epoch =
      fmt::format("epoch {:>{}}/{} ", progress.epoch, fmt::formatted_size("{}", progress.epochs),
                  progress.epochs);
  const std::string numbers = describe(progress, seconds);
  if (!terminal_) {
    write(epoch + " " + numbers + "\n");
  } else {
    constexpr std::size_t kBrackets = 3;  // both, and a blank
    const std::size_t room = columns(stream_) - 1,
                      taken = epoch.size() + numbers.size() + kBrackets;
    const std::string shown =
        taken >= room ? epoch + numbers
                      : epoch + bar(progress, std::min(kWidestBar, room - taken)) + numbers;
    // \x1b[K clears what a longer line has left behind.
    write("\r" + shown.substr(0, room) + "\x1b[K");
    drawn_ = true;
  }
}

// Whether it arrives does not matter: only the result does.
void ProgressBar::write(const std::string& text) {
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
}

}  // namespace antichain
