#include "common/job/paradigm_spec.h"

#include <string>

#include "common/job/batched_paradigm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct GoodSpec {
  std::string spec;
  std::string canonical;
};

class GoodSpecTest : public testing::TestWithParam<GoodSpec> {};

TEST_P(GoodSpecTest, IsWrittenWithEveryParameter) {
  const auto spec = ParseParadigm(GetParam().spec);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(FormatParadigm(*spec), GetParam().canonical);

  const auto again = ParseParadigm(FormatParadigm(*spec));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(FormatParadigm(*again), GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(
    ParadigmSpec, GoodSpecTest,
    testing::Values(
        GoodSpec{"bsp", "bsp"}, GoodSpec{"asp", "asp"},
        GoodSpec{"ssp", "ssp:s=3"}, GoodSpec{"ssp:s=0", "ssp:s=0"},
        GoodSpec{"ssp:s=1000000000", "ssp:s=1000000000"},
        GoodSpec{"dssp",
                 "dssp:lower=3,upper=15,mode=exact,release=next,interval=push,"
                 "rule=abs,fastest=within:3"},
        GoodSpec{"dssp:upper=3,mode=printed",
                 "dssp:lower=3,upper=3,mode=printed,release=gap,interval=push,"
                 "rule=abs,fastest=max"},
        // Its name of old; and what is said holds.
        GoodSpec{"dssp:fastest=within:2,mode=paper",
                 "dssp:lower=3,upper=15,mode=printed,release=gap,interval=push,"
                 "rule=abs,fastest=within:2"},
        GoodSpec{"dssp:fastest=within:2,rule=causal,interval=busy,"
                 "mode=bounded,upper=9,lower=0",
                 "dssp:lower=0,upper=9,mode=bounded,release=next,interval=busy,"
                 "rule=causal,fastest=within:2"},
        GoodSpec{"cgp",
                 "cgp:beta=0.9,delta=0.25,predictive=true,patience=1.5,"
                 "warmup_rounds=5,alpha=0.3,regroup_every=50,drift=0.25,"
                 "stale_weight=none,s_max=none"},
        // Decimals are taken to the millionth.
        GoodSpec{"cgp:s_max=0,stale_weight=inverse,drift=123.45678949,"
                 "regroup_every=1,alpha=1,warmup_rounds=1,patience=inf,"
                 "predictive=false,delta=1e-3,beta=0.1234567",
                 "cgp:beta=0.123457,delta=0.001,predictive=false,patience=inf,"
                 "warmup_rounds=1,alpha=1,regroup_every=1,drift=123.456789,"
                 "stale_weight=inverse,s_max=0"},
        GoodSpec{"saps:sync_every=9,s=2",
                 "saps:mode=refresh,s=2,micro_batches=8,sync_every=9"},
        GoodSpec{"saps:mode=damp,sync_every=none",
                 "saps:mode=damp,s=auto,s_max=auto"},
        GoodSpec{"ksync", "ksync:k=2"},
        GoodSpec{"kbatchsync", "kbatchsync:k=2"},
        GoodSpec{"backup", "backup:b=1"}, GoodSpec{"backup:b=0", "backup:b=0"},
        GoodSpec{"kasync:k=4", "kasync:k=4"},
        GoodSpec{"kbatchasync", "kbatchasync:k=2"},
        GoodSpec{"ksync:k=auto", "ksync:k=auto,k0=2"},
        GoodSpec{"kbatchsync:loss0=first,k0=1,k=auto",
                 "kbatchsync:k=auto,k0=1"},
        GoodSpec{"kasync:k=auto,loss0=2.5", "kasync:k=auto,k0=2,loss0=2.5"},
        GoodSpec{"syncswitch:first=ksync:k=auto",
                 "syncswitch:first=ksync:k=auto,then=asp,at=0.05,"
                 "straggler=stay"},
        GoodSpec{"kasync:staleness_weight=inverse,staleness_cap=9",
                 "kasync:k=2,staleness_weight=inverse,staleness_cap=9"},
        GoodSpec{"asp:staleness_weight=delay_compensated",
                 "asp:staleness_weight=delay_compensated,lambda=0.04"},
        // The adaptive variant has a lambda of its own, if it is given none.
        GoodSpec{"asp:mean_square=0.95,staleness_weight=delay_compensated",
                 "asp:staleness_weight=delay_compensated,lambda=2,"
                 "mean_square=0.95"},
        GoodSpec{"ssp:staleness_weight=delay_compensated,mean_square=0,"
                 "lambda=0.04",
                 "ssp:s=3,staleness_weight=delay_compensated,lambda=0.04,"
                 "mean_square=0"},
        GoodSpec{"psp", "psp:beta=2,s=3,seed=1"},
        GoodSpec{"psp:seed=9,beta=0", "psp:beta=0,s=3,seed=9"},
        GoodSpec{"elastic", "elastic:r=15"}, GoodSpec{"abs", "abs:pieces=8"},
        GoodSpec{"syncswitch",
                 "syncswitch:first=bsp,then=asp,at=0.05,straggler=stay"},
        GoodSpec{
            "syncswitch:first=ssp,then=ksync:k=3,at=1,straggler=leave",
            "syncswitch:first=ssp:s=3,then=ksync:k=3,at=1,straggler=leave"},
        GoodSpec{"syncswitch:straggler=drop",
                 "syncswitch:first=bsp,then=asp,at=0.05,straggler=drop"},
        // A canonical spec with a ',' cannot stand within another.
        GoodSpec{"syncswitch:then=dssp,at=0.1234564",
                 "syncswitch:first=bsp,then=dssp,at=0.123456,straggler=stay"},
        GoodSpec{"dssp:mode=exact,release=gap,fastest=within:0",
                 "dssp:lower=3,upper=15,mode=exact,release=gap,interval=push,"
                 "rule=abs,fastest=max"}));

struct BadSpec {
  std::string spec;
  std::string wrong;  // Says what is wrong,
  std::string right;  // and what would be right.
};

class BadSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  const auto spec = ParseParadigm(GetParam().spec);
  ASSERT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(spec.status().message()),
              AllOf(HasSubstr("paradigm \"" + GetParam().spec + "\""),
                    HasSubstr(GetParam().wrong), HasSubstr(GetParam().right)));
}

INSTANTIATE_TEST_SUITE_P(
    ParadigmSpec, BadSpecTest,
    testing::Values(
        BadSpec{"", "unknown paradigm \"\"", "known are bsp, asp, ssp, dssp"},
        BadSpec{":s=3", "unknown paradigm \"\"", "known are bsp"},
        BadSpec{"sps", "unknown paradigm \"sps\"",
                "known are bsp, asp, ssp, dssp"},
        BadSpec{"BSP", "unknown paradigm", "bsp"},
        BadSpec{"bsp:s=3", "unknown parameter \"s\"",
                "bsp has the parameters steal, pieces, fill"},
        BadSpec{"ssp:", "\"\" is not of the form parameter=value", "s"},
        BadSpec{"ssp:s", "\"s\" is not of the form", "parameter=value"},
        BadSpec{"ssp:s=", "\"s=\" is not of the form", "parameter=value"},
        BadSpec{"ssp:s=3,", "\"\" is not of the form", "parameter=value"},
        BadSpec{"ssp:slack=3", "unknown parameter \"slack\"",
                "has the parameters s"},
        BadSpec{"ssp:s=3,s=4", "\"s\" is given twice", ""},
        BadSpec{"ssp:s=three", "s=three is not a whole number",
                "from 0 to 1000000000"},
        BadSpec{"ssp:s=-1", "s=-1 is not a whole number", "from 0"},
        BadSpec{"ssp:s=+1", "s=+1 is not a whole number", "from 0"},
        BadSpec{"ssp:s=1.5", "s=1.5 is not a whole number", "from 0"},
        BadSpec{"ssp:s= 1", "is not a whole number", "from 0"},
        BadSpec{"ssp:s=1000000001", "is not a whole number from 0 to",
                "1000000000"},
        BadSpec{"ssp:s=99999999999999999999", "is not a whole number",
                "1000000000"},
        BadSpec{"dssp:lower=5,upper=4", "lower=5 is above upper=4",
                "at most that"},
        BadSpec{"dssp:upper=2", "lower=3 is above upper=2", "at most that"},
        BadSpec{"dssp:upper=20000", "more than 10000 above lower=3", "asp"},
        BadSpec{"dssp:mode=strict",
                "mode=strict is neither exact nor bounded nor printed", ""},
        BadSpec{"dssp:interval=pull", "interval=pull is none of", "push, busy"},
        BadSpec{"dssp:rule=rel", "rule=rel is none of", "abs, causal"},
        BadSpec{"dssp:fastest=all", "fastest=all is neither max nor",
                "within:K"},
        BadSpec{"dssp:fastest=within:", "is not a whole number", "from 0"},
        BadSpec{"dssp:fastest=within:x", "within:K: K=x is not a whole number",
                "from 0"},
        BadSpec{"cgp:beta=1.1", "beta=1.1 is not a number", "from 0 to 1"},
        BadSpec{"cgp:delta=-0.1", "delta=-0.1 is not a number", "from 0 to 10"},
        BadSpec{"cgp:delta=inf", "delta=inf is not a number", "from 0 to 10"},
        BadSpec{"cgp:predictive=yes", "predictive=yes is none of",
                "true, false"},
        BadSpec{"cgp:patience=0.9", "patience=0.9 is not a number",
                "from 1 to 1000, or inf"},
        BadSpec{"cgp:patience=none", "patience=none is not a number",
                "from 1 to 1000, or inf"},
        BadSpec{"cgp:warmup_rounds=0", "warmup_rounds=0 is too small",
                "from 1 to 1000000000"},
        BadSpec{"cgp:alpha=0", "alpha=0 is not a number", "from 0.001 to 1"},
        BadSpec{"cgp:regroup_every=0", "regroup_every=0 is too small",
                "from 1 to 1000000000"},
        BadSpec{"cgp:drift=a", "drift=a is not a number", "from 0 to 1000"},
        BadSpec{"cgp:stale_weight=exponential",
                "stale_weight=exponential is none of", "none, inverse"},
        BadSpec{"cgp:s_max=inf", "s_max=inf is not a whole number",
                "from 0 to 1000000000, or none"},
        BadSpec{"asp:decay=0.5", "decay", "staleness_weight=exponential"},
        BadSpec{"ssp:staleness_weight=inverse,lambda=0.1", "lambda",
                "staleness_weight=delay_compensated"},
        BadSpec{"saps:mode=damp,micro_batches=4", "micro_batches",
                "leave it out"},
        BadSpec{"saps:s_max=20", "s_max", "leave it out"},
        BadSpec{"saps:mode=refresh,starve_limit=2", "starve_limit",
                "leave it out"},
        BadSpec{"saps:micro_batches=0", "micro_batches=0", "from 1 to 1024"},
        BadSpec{"saps:mode=wait", "mode=wait", "refresh, damp, drop"},
        BadSpec{"saps:s=0", "s must be at least 1", "auto"},
        BadSpec{"saps:s=few", "s=few", "auto"},
        BadSpec{"saps:mode=damp,s=9,s_max=8", "s_max", "at least s"},
        BadSpec{"saps:mode=drop,starve_limit=0", "starve_limit=0", "from 1"},
        BadSpec{"asp:staleness_weight=half", "staleness_weight=half",
                "none, inverse, exponential, delay_compensated"},
        BadSpec{"asp:staleness_weight=exponential,decay=-1", "decay=-1",
                "from 0 to 100"},
        BadSpec{"asp:staleness_weight=delay_compensated,lambda=1001",
                "lambda=1001", "from 0 to 1000"},
        BadSpec{"asp:mean_square=0.95", "mean_square",
                "staleness_weight=delay_compensated"},
        BadSpec{"asp:staleness_weight=inverse,mean_square=none", "mean_square",
                "staleness_weight=delay_compensated"},
        BadSpec{"asp:staleness_weight=delay_compensated,mean_square=1",
                "mean_square=1 is not a number", "from 0 to 0.999999, or none"},
        BadSpec{"psp:staleness_cap=-1", "staleness_cap=-1", "from 0 to"},
        BadSpec{"kbatchsync:k=0", "k=0", "from 1 to"},
        BadSpec{"kasync:k=0", "k=0", "from 1 to"},
        BadSpec{"kbatchasync:k=0", "k=0", "from 1 to"},
        BadSpec{"ksync:k=some", "k=some is not a whole number", "or auto"},
        BadSpec{"ksync:k=2,k0=2", "k0 needs", "k=auto"},
        BadSpec{"kasync:k=auto,k0=0", "k0=0 is too small", "from 1 to"},
        BadSpec{"kbatchsync:loss0=2", "loss0 needs", "k=auto"},
        BadSpec{"ksync:k=auto,loss0=0", "loss0=0", "or first"},
        BadSpec{"backup:b=auto", "b=auto is not a whole number", "from 0"},
        BadSpec{"backup:b=-1", "b=-1", "from 0 to"},
        BadSpec{"psp:s=-1", "s=-1", "from 0 to"},
        BadSpec{"psp:beta=-1", "beta=-1", "from 0 to 1000"},
        BadSpec{"syncswitch:first=sps", "first", "known are bsp"},
        BadSpec{"cgp:staleness_weight=none", "unknown parameter",
                "stale_weight, s_max"},
        BadSpec{"ksync:k=0", "k=0 is too small", "from 1 to 1000000000"},
        BadSpec{"kbatchasync:k=x", "k=x is not a whole number", "from 0"},
        BadSpec{"backup:k=1", "unknown parameter \"k\"", "the parameter b"},
        BadSpec{"psp:beta=1001", "beta=1001 is not a whole number",
                "from 0 to 1000"},
        BadSpec{"psp:seed=-1", "seed=-1 is not a whole number", "from 0"},
        BadSpec{"elastic:r=0", "r=0 is too small", "from 1 to 1000"},
        BadSpec{"abs:pieces=0", "pieces=0 is too small", "from 1 to 1024"},
        BadSpec{"syncswitch:at=1.5", "at=1.5 is not a number", "from 0 to 1"},
        BadSpec{"saps:sync_every=0", "sync_every must be at least 1", "none"},
        BadSpec{"syncswitch:first=asp,straggler=drop", "straggler=drop",
                "needs first=bsp"},
        BadSpec{"syncswitch:first=bsp:steal=true,straggler=drop",
                "straggler=drop", "needs first=bsp"},
        BadSpec{"syncswitch:straggler=go", "straggler=go is none of",
                "leave, stay"},
        BadSpec{"syncswitch:then=sps", "then: paradigm \"sps\"",
                "unknown paradigm"},
        BadSpec{"syncswitch:first=syncswitch:at=0.1", "is made of two itself",
                "another paradigm"},
        BadSpec{"dssp:s=3", "unknown parameter \"s\"",
                "lower, upper, mode, release, interval, rule, fastest"}));

TEST(ParadigmSpecTest, EachNameIsASpec) {
  for (const absl::string_view name : ParadigmNames()) {
    EXPECT_TRUE(ParseParadigm(name).ok()) << name;
  }
  EXPECT_EQ(ParadigmNames().size(), 15u);
}

TEST(BatchedParadigmTest, IsAParadigmAndItsBatching) {
  const auto balanced = ParseBatchedParadigm("ssp:s=2,batching=balanced");
  ASSERT_TRUE(balanced.ok()) << balanced.status();
  EXPECT_EQ(balanced->batching, Batching::kBalanced);
  EXPECT_EQ(FormatBatchedParadigm(*balanced), "ssp:s=2,batching=balanced");
  for (const absl::string_view text : {"bsp", "bsp,batching=even"}) {
    const auto even = ParseBatchedParadigm(text);
    ASSERT_TRUE(even.ok()) << even.status();
    EXPECT_EQ(FormatBatchedParadigm(*even), "bsp");
  }
  EXPECT_THAT(ParseBatchedParadigm("bsp,batching=odd").status().message(),
              HasSubstr("batching: is \"odd\"; use even or balanced"));
  EXPECT_THAT(ParseBatchedParadigm("b,batching=even").status().message(),
              HasSubstr("unknown paradigm"));
}

TEST(ParadigmSpecTest, PutsTheWholeMessageOnOneLine) {
  const std::string unknown(ParseParadigm("sps:s=3").status().message());
  EXPECT_THAT(unknown, StartsWith("paradigm \"sps:s=3\": unknown paradigm "
                                  "\"sps\"; known are bsp, asp, ssp, dssp, "));
  EXPECT_THAT(unknown, Not(HasSubstr("\n")));
  EXPECT_EQ(ParseParadigm("dssp:fastest=within:x").status().message(),
            "paradigm \"dssp:fastest=within:x\": fastest=within:K: K=x "
            "is not a whole number from 0 to 1000000000");
}

}  // namespace
}  // namespace paceline
