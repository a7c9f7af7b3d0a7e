#include "fields.h"

#include <cmath>

namespace anllm::program {

Fields::Fields(Napi::Value value, std::string place) : place_(std::move(place)) {
  if (!value.IsObject()) Expected(place_, value, "an object");
  object_ = value.As<Napi::Object>();
}

Napi::Value Fields::Value(const char* name) const {
  read_.insert(name);
  return object_.Get(name);
}

void Fields::Close() const {
  const Napi::Array names = object_.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    const std::string name = names.Get(i).ToString().Utf8Value();
    if (read_.count(name) > 0 || object_.Get(name).IsUndefined()) continue;
    throw Error("unsupported", place_ + " " + name + ": the cpu backend does not know this field");
  }
}

bool Fields::IsNull(const char* name) const {
  return Value(name).IsNull();
}

bool Fields::Has(const char* name) const {
  return !Value(name).IsUndefined();
}

int64_t Fields::Integer(const char* name, int64_t low, int64_t high) const {
  return ToInteger(Value(name), place_ + " " + name, low, high);
}

double Fields::Number(const char* name) const {
  const Napi::Value value = Value(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!std::isfinite(number)) Expected(place_ + " " + name, value, "a finite number");
  return number;
}

bool Fields::Boolean(const char* name) const {
  const Napi::Value value = Value(name);
  if (!value.IsBoolean()) Expected(place_ + " " + name, value, "true or false");
  return value.As<Napi::Boolean>().Value();
}

std::string Fields::String(const char* name) const {
  const Napi::Value value = Value(name);
  if (!value.IsString()) Expected(place_ + " " + name, value, "a string");
  return value.As<Napi::String>().Utf8Value();
}

Fields Fields::Object(const char* name) const {
  return Fields(Value(name), place_ + " " + name);
}

std::vector<double> Fields::Numbers(const char* name) const {
  std::vector<double> numbers;
  ForEach(name, [&](const Napi::Value& value, const std::string& place) {
    const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
    if (!std::isfinite(number)) Expected(place, value, "a finite number");
    numbers.push_back(number);
  });
  return numbers;
}

Napi::Array Fields::Array(const char* name) const {
  const Napi::Value value = Value(name);
  if (!value.IsArray()) Expected(place_ + " " + name, value, "an array");
  return value.As<Napi::Array>();
}

void Expected(const std::string& place, const Napi::Value& value, const std::string& expected) {
  const std::string found = value.IsSymbol() ? "a symbol" : value.ToString().Utf8Value();
  throw Error("internal", place + ": got " + found.substr(0, 80) + ", expected " + expected);
}

int64_t ToInteger(const Napi::Value& value, const std::string& place, int64_t low, int64_t high) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) ||
      number != std::floor(number)) {
    Expected(place, value, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<int64_t>(number);
}

}  // namespace anllm::program
