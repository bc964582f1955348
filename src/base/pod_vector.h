#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace eroica {

/// A growing array of trivially copyable values whose growth neither copies large blocks nor holds them twice:
/// `realloc` moves big blocks by remapping pages, and capacity that was never written is not resident.
/// std::vector would peak at three times its size while it grows.
template <typename T>
class PodVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PodVector() = default;
  PodVector(PodVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PodVector& operator=(PodVector&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  PodVector(const PodVector&) = delete;
  PodVector& operator=(const PodVector&) = delete;
  ~PodVector() { std::free(data_); }

  void push_back(const T& value) {
    if (size_ == capacity_) [[unlikely]] {
      grow(capacity_ < 8 ? 16 : capacity_ * 2);
    }
    data_[size_++] = value;
  }
  void resize_down(size_t size) { size_ = size < size_ ? size : size_; }
  void clear() { size_ = 0; }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] T& operator[](size_t i) { return data_[i]; }
  [[nodiscard]] const T& operator[](size_t i) const { return data_[i]; }
  [[nodiscard]] T& back() { return data_[size_ - 1]; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }

 private:
  [[gnu::noinline]] void grow(size_t capacity) {
    void* moved = std::realloc(data_, capacity * sizeof(T));
    if (moved == nullptr) {
      throw std::bad_alloc();
    }
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace eroica
