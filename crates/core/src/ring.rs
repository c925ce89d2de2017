//! Queues that reserve memory for their maximum length, and touch only as much of it as they need.

use core::ops::{Index, IndexMut};

/// The smallest number of places in use.
const LEAST: usize = 16;

/// A queue in a ring of places.
///
/// The first element reserves memory for `reserve` elements. The ring circulates in as few places
/// as its largest length so far required. A queue that grows once then needs no allocation, and a
/// queue that stays short stays in the cache.
#[derive(Debug)]
pub struct Ring<T> {
    places: Vec<T>,
    /// Numbers of the first element and of the next one; an element is stored at its number modulo
    /// the number of places.
    head: u64,
    tail: u64,
    reserve: usize,
}

impl<T: Default> Ring<T> {
    /// An empty queue, without memory.
    #[must_use]
    pub const fn new(reserve: usize) -> Self {
        Self { places: Vec::new(), head: 0, tail: 0, reserve }
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    /// Number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        (self.tail - self.head) as usize
    }

    /// True if the queue is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Appends an element if the ring has a place for it. Returns false if it would have to grow.
    #[inline(always)]
    pub fn push_within(&mut self, element: T) -> bool {
        let has_place = self.len() < self.places.len();
        let place = self.place(self.tail);
        if has_place && let Some(free) = self.places.get_mut(place) {
            *free = element;
            self.tail += 1;
        }
        has_place
    }

    /// Appends an element.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.places[place] = element;
        self.tail += 1;
    }

    #[cold]
    fn grow(&mut self) {
        if self.places.is_empty() {
            self.warm_up();
        } else {
            double(&mut self.places, self.head, self.reserve, T::default);
        }
    }

    /// Reserves the memory now instead of with the first element.
    pub fn warm_up(&mut self) {
        if self.places.is_empty() {
            self.places.reserve_exact(self.reserve.next_power_of_two().max(LEAST));
            self.places.resize_with(LEAST, T::default);
        }
    }

    /// Removes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.head);
        self.head += 1;
        Some(core::mem::take(&mut self.places[place]))
    }

    /// Removes the first element. Its place keeps the content until another element is stored there.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn skip_front(&mut self) {
        assert!(!self.is_empty(), "nothing to skip");
        self.head += 1;
    }

    /// Appends empty elements until there are `len`.
    pub fn extend_to(&mut self, len: usize) {
        while self.len() < len {
            self.push_back(T::default());
        }
    }

    /// Removes all elements and keeps the memory.
    pub fn clear(&mut self) {
        while self.pop_front().is_some() {}
    }

    /// The element at this index.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len()).then(|| &self.places[self.place(self.head + index as u64)])
    }

    /// The element at this index.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = (index < self.len()).then(|| self.place(self.head + index as u64))?;
        Some(&mut self.places[place])
    }

    /// The first element.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The elements in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter_from(0)
    }

    /// The elements starting at this index.
    #[inline]
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &T> + Clone {
        (self.head + index as u64..self.tail).map(|number| &self.places[self.place(number)])
    }

    /// Number of elements at the front that fulfil the condition. The condition must be false for all elements behind
    /// the first one for which it is false.
    #[inline]
    #[must_use]
    pub fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(&self[middle]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl<T: Default> Index<usize> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("an index below the length")
    }
}

impl<T: Default> IndexMut<usize> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("an index below the length")
    }
}

/// Doubles the number of places of a ring. The elements from number `head` on fill all places (a
/// power of two); each is stored at its number modulo the number of places, before and after.
/// Memory for `reserve` places is reserved at once.
pub fn double<T>(places: &mut Vec<T>, head: u64, reserve: usize, empty: impl FnMut() -> T) {
    let size = places.len();
    debug_assert!(size.is_power_of_two(), "a number modulo the places is a mask");
    places.reserve_exact(reserve.max(2 * size) - size);
    places.resize_with(2 * size, empty);
    for place in 0..size {
        let number = head + ((place as u64).wrapping_sub(head) & (size as u64 - 1));
        if number & size as u64 != 0 {
            places.swap(place, place + size);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Seeds;

    #[test]
    fn it_does_what_a_deque_does() {
        let mut stream = Seeds::new(1).stream("ring");
        let (mut ring, mut deque) = (Ring::new(100), VecDeque::new());
        let mut longest = 0;
        for turn in 1..20_000_u32 {
            // More insertions than removals, then the reverse.
            let growing = turn / 500 % 2 == 0;
            match stream.below(10) {
                0..6 if growing => {
                    ring.push_back(turn);
                    deque.push_back(turn);
                }
                0..3 => {
                    ring.push_back(turn);
                    deque.push_back(turn);
                }
                9 if turn % 7 == 0 => {
                    ring.extend_to(deque.len() + 3);
                    deque.resize(deque.len() + 3, 0);
                }
                _ => assert_eq!(ring.pop_front(), deque.pop_front()),
            }
            longest = longest.max(deque.len());
            assert_eq!((ring.len(), ring.is_empty()), (deque.len(), deque.is_empty()));
            assert_eq!((ring.front(), ring.get(deque.len())), (deque.front(), None));
            if turn % 50 == 0 {
                assert!(ring.iter().eq(deque.iter()));
                assert!(ring.iter_from(deque.len() / 2).eq(deque.iter().skip(deque.len() / 2)));
            }
        }
        assert!(longest > 100, "{longest}: it never got longer than what it reserved");
        ring.clear();
        assert!(ring.is_empty() && ring.front().is_none());
    }

    #[test]
    fn it_keeps_to_few_places_of_what_it_reserved() {
        let mut ring = Ring::new(1000);
        for turn in 0..5000_u32 {
            ring.push_back(turn);
            if turn >= 20 {
                ring.pop_front();
            }
        }
        assert_eq!((ring.places.len(), ring.places.capacity()), (32, 1024));
        (0..1000).for_each(|turn| ring.push_back(turn));
        assert_eq!((ring.places.len(), ring.places.capacity()), (1024, 1024));
    }

    #[test]
    fn it_finds_where_a_condition_ends() {
        let mut ring = Ring::new(0);
        (0..50_u32).for_each(|k| ring.push_back(k));
        (0..30).for_each(|k| assert_eq!(ring.pop_front(), Some(k)));
        (50..60).for_each(|k| ring.push_back(k));
        for limit in 30..=60 {
            assert_eq!(ring.partition_point(|&k| k < limit), limit as usize - 30);
        }
    }
}
