// Arithmetic with the same bits on every machine, for float and double.
//
// Kernels use these names and no function of a C library. Sums and products round as IEEE 754 says, contraction is
// off on both compilers and a multiply-add is written multiply_add (one rounding).
//
// float     reciprocal, square_root: correctly rounded on the domain stated below, NaN (or 0) outside it, so that the
//           GPU needs no slow path: one Newton step from the hardware's estimate is exact there (proved exhaustively
//           by tests/kernels/test_hardware_roots.py). divide(a, b) = a * reciprocal(b): error at most 1.5 ulp.
// double    reciprocal, divide and square_root are IEEE's.
//
// Elementary functions are polynomials of our own (minimax on the reduced argument). Errors are stated in units in the
// last place (ulp) of the result and hold in tests/kernels/test_numeric.py.
#pragma once

#include "platform.h"

#ifdef SIM_DOUBLE
inline constexpr real REAL_MAX = 1.7976931348623157e308;
inline constexpr real REAL_EPSILON = 2.2204460492503131e-16;
#else
inline constexpr real REAL_MAX = 3.40282347e38f;
inline constexpr real REAL_EPSILON = 1.1920929e-7f;
#endif
inline constexpr real PI = real(3.14159265358979323846);
#define REAL_INFINITY (infinity<real>())

// ---------------------------------------------------------------------------------------------- the machine's words

#ifdef SIM_GPU
SIM_INLINE unsigned bits_of(float x) { return __float_as_uint(x); }
SIM_INLINE unsigned long long bits_of(double x) { return (unsigned long long)__double_as_longlong(x); }
SIM_INLINE float from_bits(unsigned b) { return __uint_as_float(b); }
SIM_INLINE double from_bits(unsigned long long b) { return __longlong_as_double((long long)b); }
SIM_INLINE float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
SIM_INLINE double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
SIM_INLINE float absolute(float x) { return fabsf(x); }
SIM_INLINE double absolute(double x) { return fabs(x); }
SIM_INLINE float floor_of(float x) { return floorf(x); }
SIM_INLINE double floor_of(double x) { return floor(x); }
SIM_INLINE double root_inside_domain(double x) { return __dsqrt_rn(x); }

SIM_INLINE float reciprocal_inside_domain(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return multiply_add(multiply_add(-x, y, 1.0f), y, y);
}

SIM_INLINE float root_inside_domain(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    const float root = x * y;
    return multiply_add(multiply_add(-root, root, x), 0.5f * y, root);
}
#else
SIM_INLINE unsigned bits_of(float x) {
    unsigned b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}
SIM_INLINE unsigned long long bits_of(double x) {
    unsigned long long b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}
SIM_INLINE float from_bits(unsigned b) {
    float x;
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}
SIM_INLINE double from_bits(unsigned long long b) {
    double x;
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}
SIM_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SIM_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
SIM_INLINE float absolute(float x) { return __builtin_fabsf(x); }
SIM_INLINE double absolute(double x) { return __builtin_fabs(x); }
SIM_INLINE float floor_of(float x) { return __builtin_floorf(x); }
SIM_INLINE double floor_of(double x) { return __builtin_floor(x); }
SIM_INLINE float reciprocal_inside_domain(float x) { return 1.0f / x; }
SIM_INLINE float root_inside_domain(float x) { return __builtin_sqrtf(x); }
SIM_INLINE double root_inside_domain(double x) { return __builtin_sqrt(x); }
#endif

// -------------------------------------------------------------------------------------------- special numbers, order

template <class T> SIM_INLINE T infinity();
template <> SIM_INLINE float infinity<float>() { return from_bits(0x7f800000u); }
template <> SIM_INLINE double infinity<double>() { return from_bits(0x7ff0000000000000ull); }

// the one NaN that is written out
template <class T> SIM_INLINE T quiet_nan();
template <> SIM_INLINE float quiet_nan<float>() { return from_bits(0x7fc00000u); }
template <> SIM_INLINE double quiet_nan<double>() { return from_bits(0x7ff8000000000000ull); }

SIM_INLINE bool is_finite(float x) { return absolute(x) <= 3.40282347e38f; }
SIM_INLINE bool is_finite(double x) { return absolute(x) <= 1.7976931348623157e308; }

// every NaN becomes the quiet one (machines differ in sign and payload); to be applied to what is written out
SIM_INLINE float canonical(float x) { return x != x ? quiet_nan<float>() : x; }
SIM_INLINE double canonical(double x) { return x != x ? quiet_nan<double>() : x; }

// The first argument wins on a tie and where either is NaN: minimum(NaN, 1) is NaN, minimum(1, NaN) is 1.
template <class T> SIM_INLINE T minimum(T a, T b) { return b < a ? b : a; }
template <class T> SIM_INLINE T maximum(T a, T b) { return b > a ? b : a; }

// Likewise in one instruction of the machine, for numbers that are no NaN where the sign of zero is of no account.
#ifdef SIM_GPU
SIM_INLINE float smaller_number(float a, float b) { return fminf(a, b); }
SIM_INLINE double smaller_number(double a, double b) { return fmin(a, b); }
SIM_INLINE float larger_number(float a, float b) { return fmaxf(a, b); }
SIM_INLINE double larger_number(double a, double b) { return fmax(a, b); }
#else
template <class T> SIM_INLINE T smaller_number(T a, T b) { return b < a ? b : a; }
template <class T> SIM_INLINE T larger_number(T a, T b) { return b > a ? b : a; }
#endif

// x within [0, 1]; NaN is 0
#ifdef SIM_GPU
SIM_INLINE float saturate(float x) { return __saturatef(x); }
SIM_INLINE double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }
#else
template <class T> SIM_INLINE T saturate(T x) { return x > T(0) ? (x < T(1) ? x : T(1)) : T(0); }
#endif

// x within [lower, upper]; NaN stays NaN
template <class T> SIM_INLINE T clamp(T x, T lower, T upper) { return minimum(maximum(x, lower), upper); }

SIM_INLINE int absolute(int x) { return x < 0 ? -x : x; }

// magnitude of x with the sign bit of s
SIM_INLINE float copy_sign(float x, float s) {
    const unsigned sign = 0x80000000u;
    return from_bits((bits_of(x) & ~sign) | (bits_of(s) & sign));
}
SIM_INLINE double copy_sign(double x, double s) {
    const unsigned long long sign = 0x8000000000000000ull;
    return from_bits((bits_of(x) & ~sign) | (bits_of(s) & sign));
}

// The end of -half .. half on the side of x. The sign of a zero decides nothing, unlike in copy_sign: compilers may
// make -(a b + c) one instruction, -a b - c, whose zeros have the other sign.
template <class T> SIM_INLINE T end_towards(T half, T x) { return x < T(0) ? -half : half; }

// towards zero, saturating at the ends of int; NaN is 0
SIM_INLINE int to_int(float x) {
    return x >= 2147483648.0f ? 2147483647 : x > -2147483648.0f ? int(x) : x != x ? 0 : -2147483647 - 1;
}
SIM_INLINE int to_int(double x) {
    return x >= 2147483647.0 ? 2147483647 : x > -2147483648.0 ? int(x) : x != x ? 0 : -2147483647 - 1;
}

// ------------------------------------------------------------------------------------------ division and square root

// float: 1/x, correctly rounded, for 2^-126 <= |x| <= 2^126; NaN for any other x (0 and infinity too). double: 1/x.
SIM_INLINE float reciprocal(float x) {
    const float a = absolute(x);
    return a >= 1.17549435e-38f && a <= 8.50705917e37f ? reciprocal_inside_domain(x) : quiet_nan<float>();
}
SIM_INLINE double reciprocal(double x) { return 1.0 / x; }

// float: a * reciprocal(b), b in the domain of reciprocal. double: a / b.
SIM_INLINE float divide(float a, float b) { return a * reciprocal(b); }
SIM_INLINE double divide(double a, double b) { return a / b; }

// float: correctly rounded for 2^-100 <= x, 0 for 0 <= x below that, NaN for negative and infinite x. double: IEEE's.
SIM_INLINE float square_root(float x) {
    const bool inside = x >= 7.88860905e-31f && x <= 3.40282347e38f;
    return inside ? root_inside_domain(x) : x >= 0.0f && x < 1.0f ? 0.0f : quiet_nan<float>();
}
SIM_INLINE double square_root(double x) { return root_inside_domain(x); }

// reciprocal(square_root(x)): error at most 1.5 ulp; in float NaN below 2^-100, in double infinite at 0
SIM_INLINE float inverse_square_root(float x) { return reciprocal(square_root(x)); }
SIM_INLINE double inverse_square_root(double x) { return reciprocal(square_root(x)); }

// --------------------------------------------------------------------------------------------------- circle functions

// Sine and cosine. x = k pi/2 + r with |r| <= pi/4 or little more: adding 1.5 * 2^23 (2^52) to x * 2/pi leaves k in the
// low bits; pi/2 is subtracted in three parts, each product exact within its multiply-add (Cody and Waite 1980). Then
// minimax polynomials in r^2. Error at most 1.6 ulp for |x| <= 1e5 (float) or 1e12 (double), then growing to 5 ulp;
// NaN for |x| above 4e6 (float) or 1e15 (double), where x itself no longer tells the angle; sine(-0) is 0.
SIM_INLINE void sine_cosine(float x, float* sine_out, float* cosine_out) {
    x = absolute(x) <= 4e6f ? x : quiet_nan<float>();
    const float shifted = multiply_add(x, 0.636619747f, 12582912.0f);
    const float k = shifted - 12582912.0f;
    const unsigned quadrant = bits_of(shifted);
    float r = multiply_add(-k, 1.57079637f, x);
    r = multiply_add(-k, -4.37113883e-8f, r);
    r = multiply_add(-k, -1.71512451e-15f, r);
    const float z = r * r;
    const float p = multiply_add(multiply_add(-1.950524e-4f, z, 8.33209e-3f), z, -1.6666654e-1f);
    const float q = multiply_add(multiply_add(2.44249240e-5f, z, -1.38872513e-3f), z, 4.16666456e-2f);
    const float s = multiply_add(r * z, p, r);
    const float c = multiply_add(z * z, q, multiply_add(-0.5f, z, 1.0f));
    const float first = quadrant & 1u ? c : s, second = quadrant & 1u ? s : c;
    *sine_out = quadrant & 2u ? -first : first;
    *cosine_out = (quadrant + 1u) & 2u ? -second : second;
}

SIM_INLINE void sine_cosine(double x, double* sine_out, double* cosine_out) {
    x = absolute(x) <= 1e15 ? x : quiet_nan<double>();
    const double shifted = multiply_add(x, 0.63661977236758134308, 6755399441055744.0);
    const double k = shifted - 6755399441055744.0;
    const unsigned quadrant = unsigned(bits_of(shifted));
    double r = multiply_add(-k, 1.5707963267948966, x);
    r = multiply_add(-k, 6.123233995736766e-17, r);
    r = multiply_add(-k, -1.4973849048591698e-33, r);
    const double z = r * r;
    double p = multiply_add(1.5890770818669435e-10, z, -2.5050655799359676e-08);
    p = multiply_add(p, z, 2.7557313050812856e-06);
    p = multiply_add(p, z, -1.9841269828002375e-04);
    p = multiply_add(p, z, 8.333333333320222e-03);
    p = multiply_add(p, z, -1.6666666666666624e-01);
    double q = multiply_add(-1.1355521673671455e-11, z, 2.087564493718114e-09);
    q = multiply_add(q, z, -2.7557313787740736e-07);
    q = multiply_add(q, z, 2.4801587287575476e-05);
    q = multiply_add(q, z, -1.388888888887116e-03);
    q = multiply_add(q, z, 4.166666666666658e-02);
    const double s = multiply_add(r * z, p, r);
    const double c = multiply_add(z * z, q, multiply_add(-0.5, z, 1.0));
    const double first = quadrant & 1u ? c : s, second = quadrant & 1u ? s : c;
    *sine_out = quadrant & 2u ? -first : first;
    *cosine_out = (quadrant + 1u) & 2u ? -second : second;
}

template <class T> SIM_INLINE T sine(T x) {
    T s, c;
    sine_cosine(x, &s, &c);
    return s;
}

template <class T> SIM_INLINE T cosine(T x) {
    T s, c;
    sine_cosine(x, &s, &c);
    return c;
}

template <class T> SIM_FUNCTION T tangent(T x) {
    T s, c;
    sine_cosine(x, &s, &c);
    return divide(s, c);
}

// arc tangent of t for |t| <= tan(pi/8)
SIM_FUNCTION float arc_tangent_reduced(float t) {
    const float z = t * t;
    float p = multiply_add(-0.06081151f, z, 0.10595138f);
    p = multiply_add(p, z, -0.14243738f);
    p = multiply_add(p, z, 0.19998483f);
    p = multiply_add(p, z, -0.33333316f);
    return multiply_add(t * z, p, t);
}

SIM_FUNCTION double arc_tangent_reduced(double t) {
    const double z = t * t;
    double p = multiply_add(-0.01790738058300949, z, 0.03806498800350078);
    p = multiply_add(p, z, -0.050393321059851726);
    p = multiply_add(p, z, 0.058478976689483875);
    p = multiply_add(p, z, -0.06663105492697657);
    p = multiply_add(p, z, 0.07692060364948954);
    p = multiply_add(p, z, -0.09090897767251582);
    p = multiply_add(p, z, 0.1111111078382025);
    p = multiply_add(p, z, -0.14285714280204131);
    p = multiply_add(p, z, 0.19999999999953663);
    p = multiply_add(p, z, -0.333333333333332);
    return multiply_add(t * z, p, t);
}

// pi/4 in two parts
template <class T> struct QuarterTurn;
template <> struct QuarterTurn<float> {
    static constexpr float high = 0.785398185f, low = -2.18556941e-8f;
};
template <> struct QuarterTurn<double> {
    static constexpr double high = 0.7853981633974483, low = 3.061616997868383e-17;
};

// Angle of the point (x, y), in [-pi, pi], signs of zeros as in C's atan2; NaN unless both are finite. Within an eighth
// turn t = smaller / larger, beyond tan(pi/8) = 0.414 turned back by pi/4: (smaller - larger) / (smaller + larger).
// Scaling by a power of two keeps the division in its domain. Error at most 2.6 ulp.
template <class T> SIM_FUNCTION T arc_tangent2(T y, T x) {
    typedef QuarterTurn<T> Quarter;
    T larger = maximum(absolute(x), absolute(y)), smaller = minimum(absolute(x), absolute(y));
    const T down = T(8.673617379884035e-19), up = T(1152921504606846976.0);  // 2^-60, 2^60
    const T scale = larger >= T(1e30) ? down : larger < down ? up : T(1);
    larger = larger * scale;
    smaller = smaller * scale;
    const bool beyond = smaller > T(0.414213562) * larger;
    const T over = beyond ? smaller - larger : smaller, under = beyond ? smaller + larger : larger;
    T angle = arc_tangent_reduced(under > T(0) ? divide(over, under) : T(0));
    angle = beyond ? Quarter::high + (angle + Quarter::low) : angle;
    angle = absolute(y) > absolute(x) ? T(2) * Quarter::high - (angle - T(2) * Quarter::low) : angle;
    angle = copy_sign(T(1), x) < T(0) ? T(4) * Quarter::high - (angle - T(4) * Quarter::low) : angle;
    return is_finite(x) && is_finite(y) ? copy_sign(angle, y) : quiet_nan<T>();
}

// Inverse sine and cosine for |x| <= 1, NaN beyond; from the leg sqrt((1 - x)(1 + x)). Error at most 3.3 ulp.
template <class T> SIM_FUNCTION T arc_sine(T x) { return arc_tangent2(x, square_root((T(1) - x) * (T(1) + x))); }
template <class T> SIM_FUNCTION T arc_cosine(T x) { return arc_tangent2(square_root((T(1) - x) * (T(1) + x)), x); }

// ------------------------------------------------------------------------------------------ exponential and logarithm

// e^x = 2^k e^r with |r| <= ln(2)/2; 2^k in two factors, so that results below the normal numbers round once.
// 0 below -104 (float) or -746, infinite above 88.73 or 709.79. Error at most 1.2 ulp.
SIM_FUNCTION float exponential(float x) {
    x = clamp(x, -104.0f, 89.0f);
    const float shifted = multiply_add(x, 1.44269502f, 12582912.0f);
    const float k = shifted - 12582912.0f;
    const float r = multiply_add(-k, -1.90465430e-9f, multiply_add(-k, 0.693147182f, x));
    float p = multiply_add(1.3941218e-3f, r, 8.363235e-3f);
    p = multiply_add(p, r, 4.1666374e-2f);
    p = multiply_add(p, r, 1.6666576e-1f);
    p = multiply_add(p, r, 0.5f);
    const float e = 1.0f + multiply_add(r * r, p, r);
    const int exponent = int(bits_of(shifted) - bits_of(12582912.0f)), half = exponent >> 1;
    return e * from_bits(unsigned(half + 127) << 23) * from_bits(unsigned(exponent - half + 127) << 23);
}

SIM_FUNCTION double exponential(double x) {
    x = clamp(x, -746.0, 710.0);
    const double shifted = multiply_add(x, 1.4426950408889634, 6755399441055744.0);
    const double k = shifted - 6755399441055744.0;
    const double r = multiply_add(-k, 2.3190468138462996e-17, multiply_add(-k, 0.6931471805599453, x));
    double p = multiply_add(2.5110154340462048e-08, r, 2.762020367160025e-07);
    p = multiply_add(p, r, 2.7557242059340425e-06);
    p = multiply_add(p, r, 2.4801521052860206e-05);
    p = multiply_add(p, r, 1.9841269886836392e-04);
    p = multiply_add(p, r, 1.3888888917370848e-03);
    p = multiply_add(p, r, 8.333333333322127e-03);
    p = multiply_add(p, r, 4.166666666662381e-02);
    p = multiply_add(p, r, 0.16666666666666674);
    p = multiply_add(p, r, 0.5);
    const double e = 1.0 + multiply_add(r * r, p, r);
    const int exponent = int(unsigned(bits_of(shifted))), half = exponent >> 1;
    const double first = from_bits((unsigned long long)(half + 1023) << 52);
    return e * first * from_bits((unsigned long long)(exponent - half + 1023) << 52);
}

// Natural logarithm. x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f) the series of
// log(1 + f) = 2 artanh(s) is 2s + s R(s^2), summed as f - (f^2/2 - s (f^2/2 + R)) (Tang 1990).
// -infinite at 0, NaN below, infinite at infinity. Error at most 1 ulp.
SIM_FUNCTION float logarithm(float x) {
    const bool tiny = x < 1.17549435e-38f;
    const unsigned bits = bits_of(tiny ? x * 33554432.0f : x);
    const int exponent = int(bits - 0x3f3504f3u) >> 23;
    const float f = from_bits(bits - (unsigned(exponent) << 23)) - 1.0f;
    const float k = float(exponent - (tiny ? 25 : 0));
    const float s = divide(f, 2.0f + f), z = s * s, half_square = 0.5f * f * f;
    const float series = z * multiply_add(multiply_add(0.2987308f, z, 0.39977497f), z, 0.66666776f);
    const float low = multiply_add(s, half_square + series, k * 1.42860677e-6f);
    const float value = multiply_add(k, 0.693145752f, f - (half_square - low));
    if (x > 0.0f && x <= 3.40282347e38f) return value;
    return x == 0.0f ? -infinity<float>() : x > 0.0f ? x : quiet_nan<float>();
}

SIM_FUNCTION double logarithm(double x) {
    const bool tiny = x < 2.2250738585072014e-308;
    const unsigned long long bits = bits_of(tiny ? x * 18014398509481984.0 : x);
    const int exponent = int((long long)(bits - 0x3fe6a09e667f3bcdull) >> 52);
    const double f = from_bits(bits - ((unsigned long long)(long long)exponent << 52)) - 1.0;
    const double k = double(exponent - (tiny ? 54 : 0));
    const double s = divide(f, 2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double p = multiply_add(0.1479751172504399, z, 0.15313902834083612);
    p = multiply_add(p, z, 0.18183569756972737);
    p = multiply_add(p, z, 0.22222198475617314);
    p = multiply_add(p, z, 0.2857142874326696);
    p = multiply_add(p, z, 0.3999999999941107);
    p = multiply_add(p, z, 0.6666666666666735);
    const double low = multiply_add(s, multiply_add(z, p, half_square), k * 7.371002565167799e-13);
    const double value = multiply_add(k, 0.6931471805592082, f - (half_square - low));
    if (x > 0.0 && x <= 1.7976931348623157e308) return value;
    return x == 0.0 ? -infinity<double>() : x > 0.0 ? x : quiet_nan<double>();
}

// x^y for x >= 0 (NaN for negative x), 1 where y = 0, through e^(y log x): relative error about
// (1 + |y log x|) epsilon in double; in float it is computed in double and rounded once.
SIM_STAGE double power(double x, double y) {
    if (y == 0.0) return 1.0;
    return exponential(y * logarithm(x));
}
SIM_FUNCTION float power(float x, float y) { return float(power(double(x), double(y))); }
