// Texts of numbers, on all pages.

// A share, rounded to so many digits, as the command does it: what is not all
// never reads as 100 %, and what is not nothing never as 0 %.
function percent(share, digits = 2) {
  const steps = 100 * 10 ** digits;
  let n = Math.floor(share * steps + 0.5 + 1e-9);
  if (share < 1)
    n = Math.min(n, steps - 1);
  if (share > 0)
    n = Math.max(n, 1);
  return ((n / steps) * 100).toFixed(digits) + " %";
}
