//! Removes and rebuilds the shadow trees of device classes after a change. Shadows keep their ids where
//! possible, because rules start from them.

use super::EditError;
use crate::crush::classes::{self, Beyond, Stop};
use crate::crush::locate::is_shadow;
use crate::crush::map::{ItemId, Map, Step, slot_of};
use crate::crush::tree::roots;
use crate::crush::weight_sets;

impl Map {
    /// Buckets without a parent, without shadows.
    pub(super) fn plain_roots(&self) -> Vec<ItemId> {
        roots(self).into_iter().filter(|&root| !is_shadow(self, root)).collect()
    }

    /// Rebuilds all shadow trees, and drops classes that no device and no rule uses.
    pub(super) fn rebuild_shadows(&mut self) -> Result<(), EditError> {
        let kept = self.class_buckets.clone();
        let dead: Vec<i32> = self.class_names.keys().copied().filter(|&class| self.is_dead(class)).collect();
        self.class_names.retain(|class, _| !dead.contains(class));
        let shadows: Vec<ItemId> = roots(self).into_iter().filter(|&root| is_shadow(self, root)).collect();
        if !shadows.is_empty() {
            for root in shadows {
                self.remove_tree(root);
            }
            weight_sets::normalize(self);
        }
        self.class_buckets.clear();
        classes::populate(self, &kept).map_err(|stop| match stop {
            Stop::Unmade => EditError::Shadows,
            Stop::Sets(Beyond { index, outer, inner }) => EditError::ShadowSets {
                index,
                outer: self.name_or_number(outer.0),
                positions: outer.1,
                inner: self.name_or_number(inner.0),
                fewer: inner.1,
            },
        })
    }

    /// The same where Ceph continues even if the shadow trees cannot be made.
    pub(super) fn rebuild_shadows_if_possible(&mut self) -> Result<(), EditError> {
        match self.rebuild_shadows() {
            Err(EditError::Shadows) => Ok(()),
            other => other,
        }
    }

    /// Whether no device has the class, and no rule starts from one of its shadows.
    fn is_dead(&self, class: i32) -> bool {
        let any_device = self.item_classes.iter().any(|(&item, &known)| item >= 0 && known == class);
        let starts_here = |step: &Step| match *step {
            Step::Take(item) => self.class_buckets.values().any(|shadows| shadows.get(&class) == Some(&item)),
            _ => false,
        };
        !any_device && !self.rules.iter().flatten().any(|rule| rule.steps.iter().any(starts_here))
    }

    fn remove_tree(&mut self, id: ItemId) {
        let Some(slot) = slot_of(id) else { return };
        let Some(bucket) = self.buckets.get_mut(slot).and_then(Option::take) else { return };
        for &item in &bucket.items {
            self.remove_tree(item);
        }
        self.forget_bucket(id);
    }

    /// Removes the names, classes and shadows of a bucket that was removed.
    pub(super) fn forget_bucket(&mut self, id: ItemId) {
        self.item_names.remove(&id);
        self.class_buckets.remove(&id);
        self.item_classes.remove(&id);
    }

    /// Whether a rule starts from the bucket or one of its shadows, or the bucket is a shadow itself.
    pub(super) fn is_in_use(&self, id: ItemId) -> bool {
        if self.class_buckets.values().any(|shadows| shadows.values().any(|&shadow| shadow == id)) {
            return true;
        }
        for step in self.rules.iter().flatten().flat_map(|rule| &rule.steps) {
            let Step::Take(taken) = *step else { continue };
            // At a start without a name, Ceph stops searching.
            let Some(original) = self.unshadowed(taken) else { return false };
            if taken == id || original == id {
                return true;
            }
        }
        false
    }

    /// The original of a shadow bucket; any other item is returned unchanged.
    fn unshadowed(&self, id: ItemId) -> Option<ItemId> {
        let name = self.item_names.get(&id)?;
        let Some((plain, class)) = name.split_once('~') else { return Some(id) };
        self.class_id(class)?;
        self.item_id(plain)
    }
}
