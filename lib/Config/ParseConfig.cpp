//===- ParseConfig.cpp - JSON text -> TrainingConfig ----------------------===//
#include "ConfigKeys.h"
#include "zero/Runtime/Base/JsonDepth.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using llvm::Error;
using llvm::StringRef;

namespace zero {

template <typename... Args> static Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), llvm::formatv(format, std::forward<Args>(args)...).str());
}

static StringRef lastPart(StringRef path) { return path.contains('.') ? path.rsplit('.').second : path; }

/// The known path nearest to `path`: by all of it, or by its last part, wherever a key of that name belongs. Empty where none is
/// like it: two of three letters equal, or the beginning of a key.
static std::string nearestKey(StringRef path) {
  std::string best;
  unsigned bestDistance = ~0u;
  auto consider = [&](StringRef candidate) {
    // Of two keys of that name the one of a like section; of a section of its own a key has nothing to say.
    unsigned elsewhere = path.contains('.') ? 1 : 0;
    unsigned distance = std::min(path.edit_distance(candidate), lastPart(path).edit_distance(lastPart(candidate)) + elsewhere);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate.str();
    }
  };
  for (const ConfigKey &key : getConfigKeys()) {
    consider(key.path);
    if (key.path.contains('.'))
      consider(key.path.split('.').first);
  }
  StringRef name = lastPart(path);
  return bestDistance * 3 <= name.size() || lastPart(best).starts_with(name) ? best : "";
}

static std::string typeName(const llvm::json::Value &value) {
  switch (value.kind()) {
  case llvm::json::Value::Null: return "null";
  case llvm::json::Value::Boolean: return "a boolean";
  case llvm::json::Value::Number: return "a number";
  case llvm::json::Value::String: return "a string";
  case llvm::json::Value::Array: return "an array";
  case llvm::json::Value::Object: return "an object";
  }
  return "unknown";
}

static Error checkRange(const ConfigKey &key, double number) {
  if (std::isfinite(number) && number >= key.minimum && number <= key.maximum)
    return Error::success();
  return failAt({key.path.str()}, "'{0}' is {1} but must lie in [{2}, {3}]", key.path, llvm::json::Value(number), llvm::json::Value(key.minimum),
              llvm::json::Value(key.maximum));
}

/// A number that is a whole one, also when written 1e8.
static Error readInteger(const ConfigKey &key, const llvm::json::Value &value, int64_t &target) {
  std::optional<double> number = value.getAsNumber();
  if (!number)
    return failAt({key.path.str()}, "'{0}' must be an integer, is {1}", key.path, typeName(value));
  if (*number != std::floor(*number))
    return failAt({key.path.str()}, "'{0}' must be an integer, is {1}", key.path, value);
  if (Error error = checkRange(key, *number))
    return error;
  target = static_cast<int64_t>(*number);
  return Error::success();
}

static Error readReal(const ConfigKey &key, const llvm::json::Value &value, double &target) {
  std::optional<double> number = value.getAsNumber();
  if (!number)
    return failAt({key.path.str()}, "'{0}' must be a number, is {1}", key.path, typeName(value));
  target = *number;
  return checkRange(key, *number);
}

static Error readKey(const ConfigKey &key, const llvm::json::Value &value, TrainingConfig &config) {
  if (auto *member = std::get_if<ConfigKey::IntegerMember>(&key.member))
    return readInteger(key, value, config.**member);
  if (auto *member = std::get_if<ConfigKey::RealMember>(&key.member))
    return readReal(key, value, config.**member);
  if (auto *member = std::get_if<ConfigKey::BoolMember>(&key.member)) {
    std::optional<bool> flag = value.getAsBoolean();
    if (!flag)
      return failAt({key.path.str()}, "'{0}' must be true or false, is {1}", key.path, typeName(value));
    config.**member = *flag;
    return Error::success();
  }
  if (auto *member = std::get_if<ConfigKey::PairMember>(&key.member)) {
    const llvm::json::Array *array = value.getAsArray();
    if (!array || array->size() != 2)
      return failAt({key.path.str()}, "'{0}' must be an array of 2 numbers, is {1}", key.path,
                  array ? llvm::formatv("one of {0}", array->size()).str() : typeName(value));
    if (Error error = readReal(key, (*array)[0], config.*(member->first)))
      return error;
    return readReal(key, (*array)[1], config.*(member->second));
  }
  std::optional<StringRef> text = value.getAsString();
  if (!text)
    return failAt({key.path.str()}, "'{0}' must be a string, is {1}", key.path, typeName(value));
  llvm::SmallVector<StringRef> choices;
  key.choices.split(choices, '|');
  for (StringRef choice : choices) {
    llvm::SmallVector<StringRef> spellings;
    choice.split(spellings, '=');
    for (StringRef spelling : spellings)
      if (spelling.equals_insensitive(*text)) {
        config.*std::get<ConfigKey::StringMember>(key.member) = spellings.front().str();
        return Error::success();
      }
  }
  return failAt({key.path.str()}, "'{0}' is \"{1}\" but must be one of {2}", key.path, *text, key.choices);
}

/// Whether keys lie below `path`.
static bool isSection(StringRef path) {
  return llvm::any_of(getConfigKeys(), [&](const ConfigKey &key) {
    StringRef rest = key.path;
    return rest.consume_front(path) && rest.starts_with(".");
  });
}

static Error readObject(const llvm::json::Object &object, StringRef prefix, TrainingConfig &config) {
  for (const auto &entry : object) {
    std::string path = prefix.empty() ? entry.first.str() : (prefix + "." + entry.first.str()).str();
    if (isSection(path)) {
      const llvm::json::Object *section = entry.second.getAsObject();
      if (!section)
        return failAt({path}, "'{0}' must be an object, is {1}", path, typeName(entry.second));
      if (Error error = readObject(*section, path, config))
        return error;
      continue;
    }
    const ConfigKey *found = nullptr;
    for (const ConfigKey &key : getConfigKeys())
      if (key.path == path)
        found = &key;
    if (!found) {
      std::string nearest = nearestKey(path);
      if (nearest.empty())
        return failAt({path}, "unknown key '{0}', and no known one is like it; zero-compile --help-config lists them", path);
      return failAt({path}, "unknown key '{0}'; the nearest known one is '{1}'", path, nearest);
    }
    if (Error error = readKey(*found, entry.second, config))
      return error;
    config.given.insert(path);
  }
  return Error::success();
}

/// The end of the JSON string that starts at `begin`, behind its closing quote.
static size_t endOfString(StringRef json, size_t begin) {
  size_t i = begin + 1;
  for (; json[i] != '"'; ++i)
    i += json[i] == '\\';
  return i + 1;
}

static KeyPlace placeOf(StringRef json, size_t offset) {
  StringRef before = json.take_front(offset);
  size_t line = before.rfind('\n');
  return {static_cast<unsigned>(before.count('\n') + 1), static_cast<unsigned>(offset - (line == StringRef::npos ? 0 : line + 1) + 1)};
}

/// Where each key stands, the first time. One that stands twice in an object is an error: llvm::json keeps the last and says nothing. `json`
/// is known to be well-formed.
static Error findKeys(StringRef json, llvm::StringMap<KeyPlace> &places) {
  struct Level {
    std::string path;
    llvm::StringSet<> keys;
  };
  std::vector<Level> levels;
  std::string lastKey;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '{' || json[i] == '[') {
      levels.push_back({lastKey, {}});
    } else if (json[i] == '}' || json[i] == ']') {
      levels.pop_back();
    } else if (json[i] == '"') {
      size_t begin = i, end = endOfString(json, i);
      StringRef word = json.slice(i + 1, end - 1);
      i = end - 1;
      if (!json.drop_front(end).ltrim().starts_with(":"))
        continue;
      const Level &level = levels.back();
      lastKey = level.path.empty() ? word.str() : level.path + "." + word.str();
      if (!levels.back().keys.insert(word).second) {
        places[lastKey] = placeOf(json, begin); // of the second
        return failAt({lastKey}, "key '{0}' stands twice", lastKey);
      }
      places.try_emplace(lastKey, placeOf(json, begin));
    }
  }
  return Error::success();
}

/// Reads `json` into `config`, and where its keys stand, those before an error too.
static Error readText(StringRef json, TrainingConfig &config) {
  if (isNestedTooDeeply(json))
    return fail("objects and arrays lie in each other more than {0} deep", kMostJsonLevels);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return value.takeError();
  if (Error error = findKeys(json, config.places))
    return error;
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return fail("the configuration must be an object, is {0}", typeName(*value));
  return readObject(*object, "", config);
}

llvm::Expected<TrainingConfig> TrainingConfig::parse(StringRef json) {
  TrainingConfig config;
  if (Error error = readText(json, config))
    return std::move(error);
  return config;
}

llvm::Expected<TrainingConfig> TrainingConfig::parseFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail("cannot read '{0}': {1}", path, buffer.getError().message());
  TrainingConfig config;
  config.file = path.str();
  Error error = readText((*buffer)->getBuffer(), config);
  if (!error)
    return config;
  std::string place = path.str(), text;
  llvm::handleAllErrors(
      std::move(error),
      [&](const ConfigError &found) {
        if (std::optional<KeyPlace> key = config.find(found))
          place += ":" + std::to_string(key->line) + ":" + std::to_string(key->column);
        text = found.message();
      },
      [&](const llvm::ErrorInfoBase &found) { text = found.message(); });
  return fail("{0}: {1}", place, text);
}

std::optional<KeyPlace> TrainingConfig::find(const ConfigError &error) const {
  for (const std::string &key : error.getKeys())
    if (auto found = places.find(key); found != places.end())
      return found->second;
  return {};
}

} // namespace zero
