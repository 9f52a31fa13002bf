// Means with Student-t intervals and percentiles, as haltere.analysis.stats has them; a test compares both.

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Linear between the two nearest values. `values` is sorted here.
export function percentile(values, q) {
  if (!values.length) return null;
  const sorted = Float64Array.from(values).sort(), at = q / 100 * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

export function jain(rates) {
  const sum = rates.reduce((a, b) => a + b, 0), squares = rates.reduce((a, b) => a + b * b, 0);
  return squares > 0 ? sum * sum / (rates.length * squares) : 1;
}

// P(|T| <= t) for a whole number of degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4.
function within(t, df) {
  const angle = Math.atan2(t, Math.sqrt(df)), cos = Math.cos(angle), sin = Math.sin(angle);
  let term = df % 2 ? cos : 1, sum = df > 1 ? term : 0;
  for (let k = df % 2 ? 3 : 2; k <= df - 2; k += 2) {
    term *= cos * cos * (k - 1) / k;
    sum += term;
  }
  return df % 2 ? (angle + sin * sum) * 2 / Math.PI : sin * sum;
}

// The two-sided quantile of Student's t distribution at 95 %.
export function studentT(df) {
  let low = 0, high = 1;
  while (within(high, df) < 0.95) high *= 2;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (within(middle, df) < 0.95) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

// The mean of one value a seed and half its interval; null if one value tells nothing of the spread.
export function interval(values) {
  const n = values.length, middle = mean(values);
  if (n < 2) return { mean: middle, half: null, n };
  const sd = Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (n - 1));
  return { mean: middle, half: studentT(n - 1) * sd / Math.sqrt(n), n };
}

// The mean with its interval: two significant digits of the interval, at most `digits` decimals.
export function spoken({ mean, half }, digits) {
  if (half == null) return mean.toFixed(digits);
  const own = half > 0 ? Math.min(digits, 1 - Number(half.toExponential(1).split("e")[1])) : digits;
  const round = (value) => own >= 0 ? value.toFixed(own) : String(Math.round(value / 10 ** -own) * 10 ** -own);
  return `${round(mean)} ± ${round(half)}`;
}
