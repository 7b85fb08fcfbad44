// SPDX-License-Identifier: Apache-2.0
// The routes of objects. A body is sent in batches of at most `rows_at_once` rows, one after
// another, so that no batch holds the loop for long. All rows of a batch have the same columns. The
// names of a batch are sent before its positions: if a name is refused, for example because another
// text has the same hash, the object is rejected.
#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

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

constexpr std::size_t rows_at_once = 1024;
constexpr std::size_t batch_bytes_max = std::size_t{1} << 19;
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
            .values = values};
  }
};

/// Returns which of tags, label and value the object has, as bits. All rows of a batch must have
/// the same bits: a batch without tags leaves the tags of its objects as they are.
unsigned columns_of(const PostedObject& object) {
  return (object.tags ? 1u : 0u) | (object.label ? 2u : 0u) | (object.value ? 4u : 0u);
}

/// Returns the indexes of the objects in the order of sending. Rows with the same columns follow
/// one another, so that they share batches. Rows of the same object keep their order.
std::vector<std::uint32_t> sending_order(const std::vector<PostedObject>& objects) {
  std::vector<std::uint32_t> order(objects.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t at) { return objects[at].id; });
  // The rounds are sent one after another, each in the order of its columns. If an object's row has
  // smaller columns than the object's row before it, it goes to the next round.
  std::vector<std::uint32_t> rounds(objects.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const PostedObject& before = objects[order[i - 1]];
    const PostedObject& object = objects[order[i]];
    if (before.id == object.id)
      rounds[order[i]] = rounds[order[i - 1]] + (columns_of(object) < columns_of(before) ? 1u : 0u);
  }
  std::ranges::sort(order, {}, [&](std::uint32_t at) {
    return std::tuple(rounds[at], columns_of(objects[at]), at);
  });
  return order;
}

struct PostedObjects {
  std::vector<PostedObject> objects;
  /// Indexes of `objects` in the order of sending.
  std::vector<std::uint32_t> order;
};

/// Returns the most objects of one batch, so that they, or their names, fit in one request.
std::size_t batch_rows_max(const protocol::Limits& limits) {
  const std::size_t row_bytes =
      row_bytes_besides + limits.text_bytes_max + limits.dimension * sizeof(float);
  const std::size_t bytes_max = std::min(batch_bytes_max, limits.frame_bytes_max / 2);
  return std::clamp<std::size_t>(bytes_max / row_bytes, 1, rows_at_once);
}

/// Sends the objects of one body, and answers when the last batch is answered.
class ObjectPost : public std::enable_shared_from_this<ObjectPost> {
 public:
  ObjectPost(WireGateway& gateway, std::function<std::string_view(ObjectId)> name_of,
             const protocol::Limits& limits, PostedObjects posted, HttpRespond respond)
      : gateway_(gateway),
        name_of_(std::move(name_of)),
        components_(limits.space == Space::planar2 ? 2 : 3),
        dimension_(limits.dimension),
        rows_max_(batch_rows_max(limits)),
        objects_(std::move(posted.objects)),
        order_(std::move(posted.order)),
        respond_(std::move(respond)) {}

  void send_next() {
    first_ = end_;
    if (first_ == objects_.size()) return respond_(outcomes_.answer());
    while (end_ < objects_.size() && end_ - first_ < rows_max_ &&
           columns_of(objects_[order_[first_]]) == columns_of(objects_[order_[end_]]))
      ++end_;
    send_names();
  }

 private:
  std::span<const std::uint32_t> batch_indexes() const {
    return std::span(order_).subspan(first_, end_ - first_);
  }

  void send_names() {
    const auto ids = std::make_shared<std::vector<std::uint64_t>>();
    for (const std::uint32_t index : batch_indexes())
      if (!objects_[index].name.empty()) ids->push_back(to_number(objects_[index].id));
    if (ids->empty()) return send_positions({});
    gateway_.send(
        [self = shared_from_this(), ids] {
          protocol::PutNames names{.ids = *ids, .texts = {}};
          for (const std::uint32_t index : self->batch_indexes())
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
    const auto batch = std::make_shared<Batch>();
    batch->components = components_;
    batch->dimension = dimension_;
    for (const std::uint32_t index : batch_indexes())
      if (!reject_name(index, names)) add(*batch, index);
    if (batch->ids.empty()) return send_next();
    gateway_.send([batch] { return batch->body(); },
                  [self = shared_from_this(), batch](const protocol::ReplyBody& reply) {
                    const auto* outcome = std::get_if<protocol::BatchReply>(&reply);
                    if (outcome == nullptr) return self->fail(reply);
                    self->outcomes_.add(*outcome, batch->indexes);
                    self->send_next();
                  });
  }

  void add(Batch& batch, std::uint32_t index) {
    const PostedObject& object = objects_[index];
    batch.indexes.push_back(index);
    batch.ids.push_back(to_number(object.id));
    batch.times_us.push_back(*object.time_us);
    if (dimension_ == 0)
      batch.coordinates.insert(batch.coordinates.end(), object.position.begin(),
                               object.position.begin() + components_);
    batch.vectors.insert(batch.vectors.end(), object.vector.begin(), object.vector.end());
    if (object.tags) batch.tags.push_back(*object.tags);
    if (object.label) batch.labels.push_back(*object.label);
    if (object.value) batch.values.push_back(*object.value);
  }

  /// Rejects the object, and returns true, if the server did not take its name. `names` is the
  /// reply to the names of the batch.
  bool reject_name(std::uint32_t index, const protocol::BatchReply& names) {
    const PostedObject& object = objects_[index];
    if (object.name.empty() || names.rejected == 0) return false;
    const std::string_view stored = name_of_(object.id);
    if (stored == object.name) return false;
    protocol::ReasonCount why{.reason = RowReason::name_collision, .count = 0, .limit = {}};
    if (stored.empty())
      for (const protocol::ReasonCount& each : names.reasons)
        if (each.reason != RowReason::name_collision) why = each;
    outcomes_.reject(index, why.reason, why.limit);
    return true;
  }

  void fail(const protocol::ReplyBody& reply) {
    if (first_ == 0) return respond_(refusal_answer(reply));
    const auto* error = std::get_if<protocol::ErrorReply>(&reply);
    protocol::Problem problem = error != nullptr ? error->problem : protocol::out_of_memory();
    problem.sentence += " Before that, the server took " + std::to_string(first_) +
                        " objects of the body; sending all of them again is safe.";
    respond_(problem_answer(problem));
  }

  WireGateway& gateway_;
  std::function<std::string_view(ObjectId)> name_of_;
  std::uint8_t components_;
  std::uint32_t dimension_;  ///< 0: the objects have positions
  std::size_t rows_max_;     ///< the most rows of a batch
  std::vector<PostedObject> objects_;
  std::vector<std::uint32_t> order_;
  HttpRespond respond_;
  std::size_t first_ = 0;  ///< index in order_ where the batch under way begins
  std::size_t end_ = 0;
  RowOutcomes outcomes_;
};

/// The objects of a body, or the refusal of a body that cannot be used.
struct ReadBody {
  PostedObjects posted;
  std::optional<HttpAnswer> refusal;
};

ReadBody read_body(const HttpRequest& request, const protocol::Limits& limits) {
  try {
    const bool is_lines = is_json_lines(media_type_of(request.head.content_type));
    ReadBody read{{read_objects(request.body, is_lines, limits), {}}, std::nullopt};
    read.posted.order = sending_order(read.posted.objects);
    return read;
  } catch (const BadRequest& bad) {
    return {{}, problem_answer(bad.status, bad.sentence)};
  } catch (const std::bad_alloc&) {
    return {{}, problem_answer(protocol::out_of_memory())};
  }
}

}  // namespace

void HttpApi::post_objects(HttpCall call) {
  const Parameters none(call.query, {});
  const auto shared = std::make_shared<HttpCall>(std::move(call));
  const auto send = [this, shared](ReadBody read) {
    if (read.refusal) return shared->respond(std::move(*read.refusal));
    const auto is_without = [](const PostedObject& object) { return !object.time_us; };
    std::vector<PostedObject>& objects = read.posted.objects;
    if (std::ranges::any_of(objects, is_without)) {
      const std::int64_t now_us = base_time_us();
      for (PostedObject& object : objects)
        if (!object.time_us) object.time_us = now_us;
    }
    std::make_shared<ObjectPost>(gateway(*shared), parts_.name_of, parts_.limits,
                                 std::move(read.posted), shared->respond)
        ->send_next();
  };
  if (shared->request.body.size() <= read_on_loop_bytes_max)
    return send(read_body(shared->request, parts_.limits));
  const protocol::Limits& limits = parts_.limits;
  parts_.work(shared->request.body.size(), [shared, send, &limits]() -> std::function<void()> {
    const auto read = std::make_shared<ReadBody>(read_body(shared->request, limits));
    return [shared, send, read] {
      try {
        send(std::move(*read));
      } catch (const BadRequest& bad) {
        shared->respond(problem_answer(bad.status, bad.sentence));
      }
    };
  });
}

void HttpApi::get_object(HttpCall call) {
  const Parameters none(call.query, {});
  const bool is_geo = wants_geo_json(call.request.head.accept, parts_.limits.space);
  const auto id = std::make_shared<std::uint64_t>(
      to_number(read_object_id("The object's id", call.names[0], parts_.limits)));
  gateway(call).send(
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
      gateway(call),
      [row] {
        return protocol::RemoveObjects{.ids = {&row->first, 1}, .times_us = {&row->second, 1}};
      },
      "The removal", std::move(call.respond));
}

}  // namespace starling::stream
