//! Arithmetic modulo the prime 2^61 - 1, the field of the sums in a sketch's cells.

/// 2^61 - 1, a Mersenne prime: a product is reduced by shifts and one addition.
pub(crate) const P: u64 = (1 << 61) - 1;

/// Reduces any number to an element of the field.
#[inline]
pub(crate) fn reduced(value: u64) -> u64 {
    let sum = (value & P) + (value >> 61);
    if sum >= P { sum - P } else { sum }
}

#[inline]
pub(crate) fn add(left: u64, right: u64) -> u64 {
    let sum = left + right;
    if sum >= P { sum - P } else { sum }
}

#[inline]
pub(crate) fn subtract(left: u64, right: u64) -> u64 {
    if left >= right { left - right } else { left + P - right }
}

#[inline]
pub(crate) fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    add(product as u64 & P, (product >> 61) as u64)
}

/// The multiplicative inverse of `value`, by the extended Euclidean algorithm.
///
/// # Panics
///
/// If `value` is 0, which has no inverse.
pub(crate) fn inverse(value: u64) -> u64 {
    assert_ne!(value, 0, "0 has no inverse");
    let (mut rest, mut next_rest) = (P, value);
    let (mut factor, mut next_factor) = (0_i64, 1_i64);
    while next_rest > 1 {
        let quotient = rest / next_rest;
        (rest, next_rest) = (next_rest, rest - quotient * next_rest);
        // The factors stay below the prime in absolute value, so they fit into 64 bits.
        (factor, next_factor) = (next_factor, factor - quotient as i64 * next_factor);
    }
    if next_factor < 0 { (next_factor + P as i64) as u64 } else { next_factor as u64 }
}

/// Inverts all values with one inversion and three products per value (Montgomery's trick). No value may be
/// 0.
pub(crate) fn invert_all(values: &mut [u64]) {
    let mut product = 1;
    let mut products = Vec::with_capacity(values.len());
    for value in values.iter() {
        products.push(product);
        product = multiply(product, *value);
    }
    let mut inverse = inverse(product);
    for (value, before) in values.iter_mut().zip(products).rev() {
        let own = multiply(inverse, before);
        inverse = multiply(inverse, *value);
        *value = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> impl Iterator<Item = u64> {
        let spread = (1..500_u64).map(|at| reduced(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        [1, 2, 3, P - 1, P - 2, 1 << 60].into_iter().chain(spread)
    }

    #[test]
    fn the_operations_are_those_of_the_integers_modulo_p() {
        let big = u128::from(P);
        for (left, right) in samples().zip(samples().skip(3)) {
            let (wide_left, wide_right) = (u128::from(left), u128::from(right));
            assert_eq!(u128::from(add(left, right)), (wide_left + wide_right) % big);
            assert_eq!(u128::from(subtract(left, right)), (wide_left + big - wide_right) % big);
            assert_eq!(u128::from(multiply(left, right)), wide_left * wide_right % big);
            assert_eq!(multiply(left, inverse(left)), 1);
        }
        for value in [0, P, P - 1, u64::MAX, 1 << 61] {
            assert_eq!(reduced(value), value % P);
        }
    }

    #[test]
    fn all_are_inverted_as_one_is() {
        let mut all: Vec<u64> = samples().collect();
        invert_all(&mut all);
        assert!(all.iter().copied().eq(samples().map(inverse)));
        invert_all(&mut []);
    }
}
