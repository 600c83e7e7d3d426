use crate::ffi;
use std::ffi::{c_char, c_void, CStr};
use std::fmt;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The value of a field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventValue {
    /// A size, a time in microseconds, a count.
    Number(u64),
    /// A status, a cause, a list.
    Text(String),
}

/// What a database did: docs/EVENTS.md lists the events and their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// "flush_begin", ...
    pub name: String,
    /// When it happened.
    pub time: SystemTime,
    /// The fields, in their order.
    pub fields: Vec<(String, EventValue)>,
    /// The event as a line of JSON, as the file LOG has it.
    pub json: String,
}

impl Event {
    /// The number of this field.
    pub fn number(&self, field: &str) -> Option<u64> {
        self.fields.iter().find(|(name, _)| name == field).and_then(|(_, value)| match value {
            EventValue::Number(number) => Some(*number),
            EventValue::Text(_) => None,
        })
    }

    /// The text of this field.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == field).and_then(|(_, value)| match value {
            EventValue::Number(_) => None,
            EventValue::Text(text) => Some(text.as_str()),
        })
    }
}

/// Gets the events of a database. One thread of the database calls it, for one event at a time, in order. It may block and
/// may call the database. A panic ends at the call.
///
/// ```
/// let listener = mergedb::Listener::new(|event| println!("{}", event.json));
/// let options = mergedb::Options { listener: Some(listener), ..mergedb::Options::default() };
/// ```
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(&Event) + Send + Sync>);

impl Listener {
    /// A listener that calls `f` for each event.
    pub fn new(f: impl Fn(&Event) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(f))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// A listener that an open gives to the engine. The engine owns one share of it from then on.
pub(crate) struct Given(Arc<Listener>);

impl Given {
    pub(crate) fn new(listener: &Listener) -> (Given, ffi::EventListener) {
        let shared = Arc::new(listener.clone());
        let c = ffi::EventListener {
            struct_size: size_of::<ffi::EventListener>(),
            on_event,
            destroy,
            state: Arc::into_raw(shared.clone()).cast_mut().cast(),
        };
        (Given(shared), c)
    }

    /// After an open that failed: drops the share of the engine, if the engine did not take it.
    pub(crate) fn drop_untaken(self) {
        if Arc::strong_count(&self.0) == 2 {
            // SAFETY: the open is over, and the engine did not call destroy(): it has no share, and never will.
            unsafe { Arc::decrement_strong_count(Arc::as_ptr(&self.0)) };
        }
    }
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    // SAFETY: `state` is the share that Given::new() made, and the engine calls once. A panic of a drop ends here.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Arc::from_raw(state.cast::<Listener>().cast_const()) })));
}

/// # Safety
///
/// `text` has a NUL.
unsafe fn copied(text: *const c_char) -> String {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn on_event(state: *mut c_void, event: *const ffi::Event) {
    // SAFETY: the engine owns a share of the listener, and the event lives for this call.
    let (listener, event) = unsafe { (&*state.cast::<Listener>(), &*event) };
    // A panic must not unwind into C++. The hook of the program has told of it.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: an event has its fields and texts for this call.
        let shown = unsafe { shown(event) };
        (listener.0)(&shown);
    }));
}

/// # Safety
///
/// The event is one of the engine, during its call.
unsafe fn shown(event: &ffi::Event) -> Event {
    let mut fields = Vec::with_capacity(event.field_count);
    for i in 0..event.field_count {
        // SAFETY: the event has `field_count` fields; a text has `text_size` bytes.
        fields.push(unsafe {
            let field = &*event.fields.add(i);
            let value = if field.text.is_null() {
                EventValue::Number(field.number)
            } else {
                let bytes = std::slice::from_raw_parts(field.text.cast::<u8>(), field.text_size);
                EventValue::Text(String::from_utf8_lossy(bytes).into_owned())
            };
            (copied(field.name), value)
        });
    }
    Event {
        // SAFETY: both texts have a NUL.
        name: unsafe { copied(event.name) },
        time: UNIX_EPOCH + Duration::from_micros(event.time_us),
        fields,
        json: unsafe { copied(event.json) },
    }
}
