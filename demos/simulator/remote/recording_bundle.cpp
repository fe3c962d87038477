#include <simulator/remote/recording_bundle.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/settings/problem.hpp>

#include <fstream>
#include <iterator>
#include <system_error>

namespace caisson::sim {

namespace {

std::string content_of(const std::filesystem::path& path) {
  auto fail = [&](std::string why) {
    throw config_error{
      {{problem_kind::syntax, {}, std::move(why), path.string()}}};
  };
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    fail("cannot be sent to workers: it is not a file");
  std::ifstream file{path, std::ios::binary};
  std::string out{std::istreambuf_iterator<char>{file}, {}};
  if (!file)
    fail("cannot be read");
  return out;
}

} // namespace

recording_ref recording_bundle::add(const std::string& path) {
  std::lock_guard guard{mutex_};
  if (auto found = by_path_.find(path); found != by_path_.end())
    return found->second;
  auto text = std::make_shared<const std::string>(content_of(base_ / path));
  recording_ref out{path, detail::fnv1a(*text), text->size()};
  by_path_.emplace(path, out);
  by_hash_.emplace(out.hash, std::move(text));
  return out;
}

recording_bundle::content recording_bundle::find(std::uint64_t hash) const {
  std::lock_guard guard{mutex_};
  auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? nullptr : found->second;
}

} // namespace caisson::sim
