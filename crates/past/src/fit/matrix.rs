//! The few operations on small symmetric matrices that a fit needs. Matrices are rows; sums have a fixed
//! order, so that a result has the same bits on every machine.

/// The lower triangle whose product with its transpose is a symmetric matrix.
#[derive(Clone, Debug)]
pub(super) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// None if the matrix is not positive definite.
    pub fn of(matrix: &[Vec<f64>]) -> Option<Cholesky> {
        let mut lower = vec![vec![0.0; matrix.len()]; matrix.len()];
        for row in 0..matrix.len() {
            for column in 0..=row {
                let sum: f64 = (0..column).map(|at| lower[row][at] * lower[column][at]).sum();
                let rest = matrix[row][column] - sum;
                lower[row][column] = match row == column {
                    true if rest > 0.0 => rest.sqrt(),
                    true => return None,
                    false => rest / lower[column][column],
                };
            }
        }
        Some(Cholesky(lower))
    }

    /// The same, with as much added to the diagonal as it takes.
    pub(super) fn of_nearly(matrix: &[Vec<f64>]) -> Cholesky {
        let most = (0..matrix.len()).map(|at| matrix[at][at].abs()).fold(0.0, f64::max);
        let mut more = 0.0;
        loop {
            let mut changed = matrix.to_vec();
            changed.iter_mut().enumerate().for_each(|(at, row)| row[at] += more);
            if let Some(found) = Cholesky::of(&changed) {
                return found;
            }
            more = (4.0 * more).max(1e-9 * most).max(1e-12);
        }
    }

    /// The vector that the triangle makes this one of.
    pub(super) fn forward(&self, of: &[f64]) -> Vec<f64> {
        let mut solved: Vec<f64> = Vec::with_capacity(of.len());
        for (row, value) in self.0.iter().zip(of) {
            let sum: f64 = row.iter().zip(&solved).map(|(one, other)| one * other).sum();
            solved.push((value - sum) / row[solved.len()]);
        }
        solved
    }

    /// The same for the transposed triangle.
    fn backward(&self, of: &[f64]) -> Vec<f64> {
        let mut solved = vec![0.0; of.len()];
        for at in (0..of.len()).rev() {
            let sum: f64 = (at + 1..of.len()).map(|row| self.0[row][at] * solved[row]).sum();
            solved[at] = (of[at] - sum) / self.0[at][at];
        }
        solved
    }

    /// The vector that the whole matrix makes this one of.
    pub fn solve(&self, of: &[f64]) -> Vec<f64> {
        self.backward(&self.forward(of))
    }

    /// The triangle times a vector.
    pub fn times(&self, of: &[f64]) -> Vec<f64> {
        self.0.iter().map(|row| row.iter().zip(of).map(|(one, other)| one * other).sum()).collect()
    }

    /// The logarithm of the determinant of the whole matrix.
    pub(super) fn log_determinant(&self) -> f64 {
        self.0.iter().enumerate().map(|(at, row)| 2.0 * libm::log(row[at])).sum()
    }

    /// The inverse of the whole matrix.
    pub fn inverse(&self) -> Vec<Vec<f64>> {
        let unit =
            |at: usize| (0..self.0.len()).map(|row| f64::from(u8::from(row == at))).collect::<Vec<_>>();
        (0..self.0.len()).map(|at| self.solve(&unit(at))).collect()
    }
}

/// The sum of the squares.
pub(super) fn squares(of: &[f64]) -> f64 {
    of.iter().map(|value| value * value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_solved_and_inverted() {
        let matrix = vec![vec![4.0, 2.0, 0.4], vec![2.0, 3.0, 0.5], vec![0.4, 0.5, 1.0]];
        let lower = Cholesky::of(&matrix).unwrap();
        let solved = lower.solve(&[1.0, 2.0, 3.0]);
        for (row, wanted) in matrix.iter().zip([1.0, 2.0, 3.0]) {
            let found: f64 = row.iter().zip(&solved).map(|(one, other)| one * other).sum();
            assert!((found - wanted).abs() < 1e-12, "{found}");
        }
        let inverse = lower.inverse();
        let one: f64 = (0..3).map(|at| matrix[1][at] * inverse[at][1]).sum();
        assert!((one - 1.0).abs() < 1e-12);
        // 4 * (3 - 0.25) - 2 * (2 - 0.2) + 0.4 * (1 - 1.2)
        assert!((lower.log_determinant() - libm::log(7.32)).abs() < 1e-12);
        // The planted error: no square root of a matrix that is not positive definite.
        let odd = vec![vec![1.0, 2.0], vec![2.0, 1.0]];
        assert!(Cholesky::of(&odd).is_none());
        assert!(Cholesky::of_nearly(&odd).log_determinant().is_finite());
    }
}
