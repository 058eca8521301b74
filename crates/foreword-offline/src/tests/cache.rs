//! The simulated prompt cache: hits, writes and misses.

use foreword_core::message::Usage;
use foreword_core::price::CacheTtl;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::trust::Trust;

use super::Talk;

fn talk() -> Talk {
    Talk::at(Trust::Full)
        .with_system(CacheClass::Static, "These rules come first.")
        .with_system(CacheClass::Agent, "You are the assistant of a small household.")
        .with_system(CacheClass::Conversation, "You are speaking with Alice.")
}

fn total(usage: Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write
}

#[tokio::test]
async fn known_prefix_is_read_and_the_rest_written() {
    let mut talk = talk();
    let first = talk.say("!say hello").answer().await.usage();
    assert_eq!((first.input, first.cache_read), (0, 0));
    assert!(first.cache_write > 0 && first.output > 0);
    let second = talk.say("!say hello again").answer().await.usage();
    assert_eq!(second.cache_read, first.cache_write, "all that the first request held");
    assert!(second.cache_write > 0 && second.cache_write < second.cache_read);
    let again = talk.say("!say x").try_once().await.usage();
    assert_eq!(talk.try_once().await.usage().cache_write, 0, "the same request has nothing new");
    assert!(again.cache_write > 0);
}

#[tokio::test]
async fn change_at_the_start_misses_the_cache() {
    let mut talk = talk();
    talk.say("!say hello").answer().await;
    talk.say("!say again");
    talk.request.system[0].text = "It is 06:41. These rules come first.".into();
    let usage = talk.try_once().await.usage();
    let tools_only =
        { Talk { model: talk.model.clone(), request: talk.request.clone() }.with_nothing_but_tools().await };
    assert_eq!(usage.cache_read, tools_only, "only the tools stand before it");
}

impl Talk {
    async fn with_nothing_but_tools(mut self) -> u64 {
        self.request.system.clear();
        self.request.messages.clear();
        total(self.try_once().await.usage())
    }
}

#[tokio::test]
async fn request_below_the_minimum_is_not_cached() {
    let mut talk = talk();
    talk.request.cache.min_cacheable = 100_000;
    talk.say("!say hello");
    for _ in 0..2 {
        let usage = talk.try_once().await.usage();
        assert_eq!((usage.cache_read, usage.cache_write, usage.input), (0, 0, total(usage)));
        assert!(usage.input > 0);
    }
}

#[tokio::test]
async fn shared_parts_are_written_for_an_hour_if_planned() {
    let mut talk = talk();
    talk.request.cache.ttl = CacheTtl::OneHour;
    let first = talk.say("!say hello").answer().await.usage();
    assert!(first.cache_write_1h > 0 && first.cache_write_1h < first.cache_write);
    assert_eq!(talk.say("!say again").answer().await.usage().cache_write_1h, 0, "it is there already");
}

#[tokio::test]
async fn refused_request_is_not_cached() {
    let mut talk = talk();
    talk.say("!fail 429 times=1");
    assert!(talk.try_once().await.error.is_some());
    assert_eq!(talk.try_once().await.usage().cache_read, 0);
    assert!(talk.try_once().await.error.is_some(), "counted anew");
    assert!(talk.try_once().await.usage().cache_read > 0);
}
