// SPDX-License-Identifier: Apache-2.0
// The routes of objects. A body is one unit of work: few bodies are carried out at a time, in turns
// of their owners, and each becomes one or two batches, whatever its rows look like. The names of a
// batch are sent before its positions: if a name is refused, for example because another text has
// the same hash, the object is rejected. What has not been sent when the client leaves, or has
// waited for the longest time, is dropped.
#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <variant>

#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/http/api.hpp"
#include "starling/stream/http/media_types.hpp"
#include "starling/stream/http/objects_body.hpp"
#include "starling/stream/http/parameters.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/http/replies.hpp"
#include "starling/stream/json/bad_request.hpp"

namespace starling::stream {

using protocol::RowReason;

namespace {

// The server decodes and applies a long batch beside the loop, or in slices. No quota refuses one
// of this many rows (Accounts::batch_rows_max).
constexpr std::size_t rows_at_once = std::size_t{1} << 14;
constexpr std::size_t batch_bytes_max = std::size_t{1} << 21;
constexpr std::size_t row_bytes_besides = 64;  // id, time, tags, label, value and position
/// Reading a shorter body takes less time than handing it to a worker.
constexpr std::size_t read_on_loop_bytes_max = 4096;

/// The rows of one batch, as arrays of the wire.
struct Batch {
  std::vector<std::uint32_t> indexes;  ///< [row]: index of the row in the body
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;
  std::vector<float> vectors;
  std::vector<std::uint32_t> tags;
  std::vector<Label> labels;
  std::vector<double> values;
  std::vector<std::uint8_t> row_columns;
  std::uint8_t components = 2;
  std::uint32_t dimension = 0;

  protocol::UpdateBatch body() const {
    return {.ids = ids,
            .times_us = times_us,
            .components = components,
            .coordinates = coordinates,
            .coordinates_f32 = vectors,
            .tags = tags,
            .dimension = dimension,
            .labels = labels,
            .values = values,
            .row_columns = row_columns};
  }
};

/// Returns which of tags, label and value the object has, as bits of RowColumn. An object without
/// tags keeps the tags that it has.
std::uint8_t columns_of(const PostedObject& object) {
  return static_cast<std::uint8_t>((object.tags ? protocol::tags_column : 0) |
                                   (object.label ? protocol::label_column : 0) |
                                   (object.value ? protocol::value_column : 0));
}

/// The objects of a body, or the refusal of a body that cannot be used.
struct ReadBody {
  std::vector<PostedObject> objects;
  std::optional<HttpAnswer> refusal;
};

ReadBody read_body(const HttpRequest& request, const protocol::Limits& limits) {
  try {
    const bool is_lines = is_json_lines(media_type_of(request.head.content_type));
    return {read_objects(request.body, is_lines, limits), std::nullopt};
  } catch (const BadRequest& bad) {
    return {{}, problem_answer(bad.status, bad.sentence)};
  } catch (const std::bad_alloc&) {
    return {{}, problem_answer(protocol::out_of_memory())};
  }
}

/// Carries out one body, and answers when its last batch is answered.
class ObjectPost : public std::enable_shared_from_this<ObjectPost> {
 public:
  /// What the post uses of the HttpApi, which outlives it unless the loop has ended.
  struct Parts {
    WireClient client;
    const protocol::Limits& limits;
    std::function<std::string_view(ObjectId)> name_of;
    std::function<std::int64_t()> base_time_us;  ///< HttpApi::base_time_us
  };

  ObjectPost(Parts parts, HttpCall call)
      : parts_(std::move(parts)),
        components_(parts_.limits.space == Space::planar2 ? 2 : 3),
        dimension_(parts_.limits.dimension),
        request_(std::move(call.request)),
        respond_(std::move(call.respond)) {}
  ObjectPost(const ObjectPost&) = delete;
  ObjectPost& operator=(const ObjectPost&) = delete;
  ~ObjectPost() {
    if (const auto jobs = jobs_.lock()) jobs->ended(request_.head.payer, steady_now_us());
  }

  /// Makes the post one of the jobs until its destruction.
  void begin_as_job_of(const std::weak_ptr<FairJobs>& jobs) { jobs_ = jobs; }

  /// Drops what has not been sent, and says so, when the client leaves or has waited for the
  /// longest time.
  void drop_unsent_in_time() {
    request_.wait->on_end([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->drop_unsent();
    });
  }
  bool is_dropped() const { return request_.wait->is_over(); }
  std::size_t body_bytes() const { return request_.body.size(); }

  /// Reads the body. Any thread may call it, after which the body is gone.
  ReadBody read() {
    ReadBody result = read_body(request_, parts_.limits);
    request_.body = {};
    return result;
  }

  void send(ReadBody read) {
    if (is_dropped()) return;
    if (read.refusal) return respond_(std::move(*read.refusal));
    objects_ = std::move(read.objects);
    const auto is_without = [](const PostedObject& object) { return !object.time_us; };
    if (std::ranges::any_of(objects_, is_without)) {
      try {
        const std::int64_t now_us = parts_.base_time_us();
        for (PostedObject& object : objects_)
          if (!object.time_us) object.time_us = now_us;
      } catch (const BadRequest& bad) {
        return respond_(problem_answer(bad.status, bad.sentence));
      }
    }
    send_next();
  }

  void refuse(const protocol::Problem& problem) { respond_(problem_answer(problem)); }

 private:
  void send_next() {
    first_ = end_;
    if (first_ == objects_.size()) return respond_(outcomes_.answer());
    if (is_dropped()) return;
    const std::size_t bytes_max = std::min(batch_bytes_max, parts_.limits.frame_bytes_max / 2);
    for (std::size_t bytes = 0; end_ < objects_.size() && end_ - first_ < rows_at_once; ++end_) {
      bytes += row_bytes_besides + objects_[end_].name.size() + dimension_ * sizeof(float);
      if (bytes > bytes_max && end_ > first_) break;
    }
    send_names();
  }

  void send_names() {
    const auto ids = std::make_shared<std::vector<std::uint64_t>>();
    for (std::size_t index = first_; index < end_; ++index)
      if (!objects_[index].name.empty()) ids->push_back(to_number(objects_[index].id));
    if (ids->empty()) return send_positions({});
    parts_.client.send(
        [self = shared_from_this(), ids] {
          protocol::PutNames names{.ids = *ids, .texts = {}};
          for (std::size_t index = self->first_; index < self->end_; ++index)
            if (const std::string& name = self->objects_[index].name; !name.empty())
              names.texts.push_back(name);
          return names;
        },
        [self = shared_from_this()](const protocol::ReplyBody& reply) {
          const auto* batch = std::get_if<protocol::BatchReply>(&reply);
          if (batch == nullptr) return self->fail(reply);
          self->send_positions(*batch);
        });
  }

  void send_positions(const protocol::BatchReply& names) {
    if (is_dropped()) return;
    const auto batch = std::make_shared<Batch>();
    batch->components = components_;
    batch->dimension = dimension_;
    for (std::size_t index = first_; index < end_; ++index)
      if (!reject_name(index, names)) add(*batch, index);
    if (batch->ids.empty()) return send_next();
    parts_.client.send(
        [self = shared_from_this(), batch] {
          self->is_sent_ = true;
          return batch->body();
        },
        [self = shared_from_this(), batch](const protocol::ReplyBody& reply) {
          self->is_sent_ = false;
          const auto* outcome = std::get_if<protocol::BatchReply>(&reply);
          if (outcome == nullptr) return self->fail(reply);
          self->outcomes_.add(*outcome, batch->indexes);
          self->send_next();
        });
  }

  void add(Batch& batch, std::size_t index) {
    const PostedObject& object = objects_[index];
    batch.indexes.push_back(static_cast<std::uint32_t>(index));
    batch.ids.push_back(to_number(object.id));
    batch.times_us.push_back(*object.time_us);
    if (dimension_ == 0)
      batch.coordinates.insert(batch.coordinates.end(), object.position.begin(),
                               object.position.begin() + components_);
    batch.vectors.insert(batch.vectors.end(), object.vector.begin(), object.vector.end());
    batch.row_columns.push_back(columns_of(object));
    if (object.tags) batch.tags.push_back(*object.tags);
    if (object.label) batch.labels.push_back(*object.label);
    if (object.value) batch.values.push_back(*object.value);
  }

  /// Rejects the object, and returns true, if the server did not take its name. `names` is the
  /// reply to the names of the batch.
  bool reject_name(std::size_t index, const protocol::BatchReply& names) {
    const PostedObject& object = objects_[index];
    if (object.name.empty() || names.rejected == 0) return false;
    const std::string_view stored = parts_.name_of(object.id);
    if (stored == object.name) return false;
    protocol::ReasonCount why{.reason = RowReason::name_collision, .count = 0, .limit = {}};
    if (stored.empty())
      for (const protocol::ReasonCount& each : names.reasons)
        if (each.reason != RowReason::name_collision) why = each;
    outcomes_.reject(static_cast<std::uint32_t>(index), why.reason, why.limit);
    return true;
  }

  void fail(const protocol::ReplyBody& reply) {
    if (first_ == 0) return respond_(refusal_answer(reply));
    const auto* error = std::get_if<protocol::ErrorReply>(&reply);
    protocol::Problem problem = error != nullptr ? error->problem : protocol::out_of_memory();
    problem.sentence += " Before that, the server took the first " + std::to_string(first_) +
                        " objects of the body; sending all of them again is safe.";
    respond_(problem_answer(problem));
  }

  void drop_unsent() {
    if (jobs_.expired()) request_.body = {};          // no worker reads it
    if (is_sent_ && end_ == objects_.size()) return;  // the server has all of it
    std::string sentence = "The answer was not ready in time. The server ";
    if (first_ == 0 && !is_sent_) {
      sentence += "took no object of the body";
    } else {
      sentence += "took the first " + std::to_string(first_) + " of the body's " +
                  std::to_string(objects_.size()) + " objects";
      if (is_sent_) sentence += ", may still take the next " + std::to_string(end_ - first_);
      sentence += ", and drops the others";
    }
    respond_(problem_answer(503, sentence + "; sending all of them again is safe."));
  }

  Parts parts_;
  std::uint8_t components_;
  std::uint32_t dimension_;  ///< 0: the objects have positions
  HttpRequest request_;
  HttpRespond respond_;
  std::weak_ptr<FairJobs> jobs_;  ///< FairJobs of which this is a job; empty: none
  std::vector<PostedObject> objects_;
  std::size_t first_ = 0;  ///< index in objects_ where the batch under way begins
  std::size_t end_ = 0;
  bool is_sent_ = false;  ///< the batch under way was passed to the server
  RowOutcomes outcomes_;
};

}  // namespace

void HttpApi::post_objects(HttpCall call) {
  const Parameters none(call.query, {});
  const Payer payer = call.request.head.payer;
  ObjectPost::Parts parts{.client = client_of(call),
                          .limits = parts_.limits,
                          .name_of = parts_.name_of,
                          .base_time_us = [this] { return base_time_us(); }};
  const auto post = std::make_shared<ObjectPost>(std::move(parts), std::move(call));
  if (post->body_bytes() <= read_on_loop_bytes_max) return post->send(post->read());
  post->drop_unsent_in_time();
  const auto begin = [this, post] {
    if (post->is_dropped()) return false;
    try {
      parts_.work(post->body_bytes(), [post]() -> std::function<void()> {
        const auto read = std::make_shared<ReadBody>(post->read());
        return [post, read] { post->send(std::move(*read)); };
      });
    } catch (const std::bad_alloc&) {
      post->refuse(protocol::out_of_memory());
      return false;
    }
    post->begin_as_job_of(bodies_);
    return true;
  };
  const auto refuse = [post] {
    post->refuse({protocol::ErrorCode::busy,
                  "Too many bodies of objects wait; send this one again in a while.",
                  {}});
  };
  bodies_->add(payer, {.begin = begin, .refuse = refuse}, steady_now_us());
}

void HttpApi::get_object(HttpCall call) {
  const Parameters none(call.query, {});
  const bool is_geo = wants_geo_json(call.request.head.accept, parts_.limits.space);
  const auto id = std::make_shared<std::uint64_t>(
      to_number(read_object_id("The object's id", call.names[0], parts_.limits)));
  client_of(call).send(
      [id] {
        return protocol::GetObjects{.object_ids = {id.get(), 1}};
      },
      [respond = call.respond, is_geo,
       space = parts_.limits.space](const protocol::ReplyBody& reply) {
        const auto* found = std::get_if<protocol::Objects>(&reply);
        if (found == nullptr) return respond(refusal_answer(reply));
        if (found->ids.empty())
          return respond(problem_answer(404, "The server has no object with this id."));
        JsonText json;
        if (is_geo) {
          append_feature(json, feature_of(*found, 0));
          return respond(geo_json_answer(json));
        }
        json.begin_object().key("id").text(std::to_string(found->ids[0]));
        std::size_t axis = 0;
        for (const std::string_view name : coordinate_names(space))
          json.key(name).number(found->positions[axis++]);
        json.key("time_us").number(found->times_us[0]);
        json.key("tags").number(std::uint64_t{found->tags[0]});
        if (!found->names.empty() && !found->names[0].empty())
          json.key("name").text(found->names[0]);
        json.end_object();
        respond(json_answer(json));
      });
}

void HttpApi::delete_object(HttpCall call) {
  const Parameters none(call.query, {});
  const ObjectId id = read_object_id("The object's id", call.names[0], parts_.limits);
  const auto row =
      std::make_shared<std::pair<std::uint64_t, std::int64_t>>(to_number(id), base_time_us());
  send_one_row(
      client_of(call),
      [row] {
        return protocol::RemoveObjects{.ids = {&row->first, 1}, .times_us = {&row->second, 1}};
      },
      "The removal", std::move(call.respond));
}

}  // namespace starling::stream
