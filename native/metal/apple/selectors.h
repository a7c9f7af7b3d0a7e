/**
 * Every message that is sent to Foundation and Metal, with the types and the page of Apple's documentation
 * that gives them (below https://developer.apple.com/documentation/).
 */
#pragma once

#include "objc.h"

namespace anllm::metal::apple {

/** X(our name, selector, page, result, arguments…) */
#define ANLLM_SELECTORS(X)                                                                                  \
  X(New, "new", "objectivec/nsobject-swift.class/new", Id)                                                  \
  X(StringWithUtf8, "stringWithUTF8String:", "foundation/nsstring/stringwithutf8string:", Id, const char*)  \
  X(Utf8OfString, "UTF8String", "foundation/nsstring/utf8string", const char*)                              \
  X(LocalizedDescription, "localizedDescription", "foundation/nserror/localizeddescription", Id)            \
  X(RespondsToSelector, "respondsToSelector:", "objectivec/nsobjectprotocol/responds(to:)", bool, Selector) \
  X(FirstObject, "firstObject", "foundation/nsarray/firstobject", Id)                                       \
  X(UnsignedIntegerValue, "unsignedIntegerValue", "foundation/nsnumber/uintvalue", UInteger)                \
  X(ArrayWithObject, "arrayWithObject:", "foundation/nsarray/arraywithobject:", Id, Id)                     \
  X(FileUrl, "fileURLWithPath:", "foundation/nsurl/fileurlwithpath:", Id, Id)                               \
  X(Name, "name", "metal/mtldevice/name", Id)                                                               \
  X(SupportsFamily, "supportsFamily:", "metal/mtldevice/supportsfamily(_:)", bool, Integer)                 \
  X(RegistryId, "registryID", "metal/mtldevice/registryid", UInteger)                                       \
  X(HasUnifiedMemory, "hasUnifiedMemory", "metal/mtldevice/hasunifiedmemory", bool)                         \
  X(MaxBufferLength, "maxBufferLength", "metal/mtldevice/maxbufferlength", UInteger)                        \
  X(RecommendedMaxWorkingSetSize, "recommendedMaxWorkingSetSize",                                           \
    "metal/mtldevice/recommendedmaxworkingsetsize", UInteger)                                               \
  X(NewBuffer, "newBufferWithLength:options:", "metal/mtldevice/makebuffer(length:options:)", Id, UInteger, \
    UInteger)                                                                                               \
  X(NewBufferWithBytesNoCopy, "newBufferWithBytesNoCopy:length:options:deallocator:",                       \
    "metal/mtldevice/makebuffer(bytesnocopy:length:options:deallocator:)", Id, Bytes, UInteger, UInteger,   \
    NoBlock)                                                                                                \
  X(NewCommandQueue, "newCommandQueue", "metal/mtldevice/makecommandqueue()", Id)                           \
  X(NewLibrary, "newLibraryWithSource:options:error:", "metal/mtldevice/makelibrary(source:options:)", Id,  \
    Id, Id, ErrorPlace)                                                                                     \
  X(NewPipeline, "newComputePipelineStateWithDescriptor:options:reflection:error:",                         \
    "metal/mtldevice/makecomputepipelinestate(descriptor:options:reflection:)", Id, Id, UInteger,           \
    ErrorPlace, ErrorPlace)                                                                                 \
  X(SetComputeFunction, "setComputeFunction:", "metal/mtlcomputepipelinedescriptor/computefunction", void,  \
    Id)                                                                                                     \
  X(SetBinaryArchives, "setBinaryArchives:", "metal/mtlcomputepipelinedescriptor/binaryarchives", void, Id) \
  X(NewBinaryArchive,                                                                                       \
    "newBinaryArchiveWithDescriptor:error:", "metal/mtldevice/makebinaryarchive(descriptor:)", Id, Id,      \
    ErrorPlace)                                                                                             \
  X(SetUrl, "setUrl:", "metal/mtlbinaryarchivedescriptor/url", void, Id)                                    \
  X(AddPipelineFunctions, "addComputePipelineFunctionsWithDescriptor:error:",                               \
    "metal/mtlbinaryarchive/addcomputepipelinefunctions(descriptor:)", bool, Id, ErrorPlace)                \
  X(SerializeToUrl, "serializeToURL:error:", "metal/mtlbinaryarchive/serialize(to:)", bool, Id, ErrorPlace) \
  X(NewResidencySet,                                                                                        \
    "newResidencySetWithDescriptor:error:", "metal/mtldevice/makeresidencyset(descriptor:)", Id, Id,        \
    ErrorPlace)                                                                                             \
  X(AddAllocation, "addAllocation:", "metal/mtlresidencyset/addallocation(_:)", void, Id)                   \
  X(RequestResidency, "requestResidency", "metal/mtlresidencyset/requestresidency()", void)                 \
  X(EndResidency, "endResidency", "metal/mtlresidencyset/endresidency()", void)                             \
  X(AddResidencySet, "addResidencySet:", "metal/mtlcommandqueue/addresidencyset(_:)", void, Id)             \
  X(RemoveResidencySet, "removeResidencySet:", "metal/mtlcommandqueue/removeresidencyset(_:)", void, Id)    \
  X(SetLanguageVersion, "setLanguageVersion:", "metal/mtlcompileoptions/languageversion", void, UInteger)   \
  X(SetFastMathEnabled, "setFastMathEnabled:", "metal/mtlcompileoptions/fastmathenabled", void, bool)       \
  X(SetConstantValue,                                                                                       \
    "setConstantValue:type:atIndex:", "metal/mtlfunctionconstantvalues/setconstantvalue(_:type:index:)",    \
    void, Bytes, UInteger, UInteger)                                                                        \
  X(NewFunction,                                                                                            \
    "newFunctionWithName:constantValues:error:", "metal/mtllibrary/makefunction(name:constantvalues:)", Id, \
    Id, Id, ErrorPlace)                                                                                     \
  X(MaxTotalThreads, "maxTotalThreadsPerThreadgroup",                                                       \
    "metal/mtlcomputepipelinestate/maxtotalthreadsperthreadgroup", UInteger)                                \
  X(ThreadExecutionWidth, "threadExecutionWidth", "metal/mtlcomputepipelinestate/threadexecutionwidth",     \
    UInteger)                                                                                               \
  X(Contents, "contents", "metal/mtlbuffer/contents()", Bytes)                                              \
  X(NextCommandBuffer, "commandBuffer", "metal/mtlcommandqueue/makecommandbuffer()", Id)                    \
  X(ComputeEncoder, "computeCommandEncoderWithDispatchType:",                                               \
    "metal/mtlcommandbuffer/makecomputecommandencoder(dispatchtype:)", Id, UInteger)                        \
  /* Of a residency set too. */                                                                             \
  X(Commit, "commit", "metal/mtlcommandbuffer/commit()", void)                                              \
  X(WaitUntilCompleted, "waitUntilCompleted", "metal/mtlcommandbuffer/waituntilcompleted()", void)          \
  X(Status, "status", "metal/mtlcommandbuffer/status", UInteger)                                            \
  X(ErrorOf, "error", "metal/mtlcommandbuffer/error", Id)                                                   \
  X(SetPipeline, "setComputePipelineState:", "metal/mtlcomputecommandencoder/setcomputepipelinestate(_:)",  \
    void, Id)                                                                                               \
  X(SetBuffer, "setBuffer:offset:atIndex:", "metal/mtlcomputecommandencoder/setbuffer(_:offset:index:)",    \
    void, Id, UInteger, UInteger)                                                                           \
  X(SetBytes, "setBytes:length:atIndex:", "metal/mtlcomputecommandencoder/setbytes(_:length:index:)", void, \
    Bytes, UInteger, UInteger)                                                                              \
  X(SetThreadgroupMemory, "setThreadgroupMemoryLength:atIndex:",                                            \
    "metal/mtlcomputecommandencoder/setthreadgroupmemorylength(_:index:)", void, UInteger, UInteger)        \
  X(DispatchThreadgroups, "dispatchThreadgroups:threadsPerThreadgroup:",                                    \
    "metal/mtlcomputecommandencoder/dispatchthreadgroups(_:threadsperthreadgroup:)", void, Size, Size)      \
  X(MemoryBarrier, "memoryBarrierWithScope:", "metal/mtlcomputecommandencoder/memorybarrier(scope:)", void, \
    UInteger)                                                                                               \
  X(EndEncoding, "endEncoding", "metal/mtlcommandencoder/endencoding()", void)

namespace send {

#define ANLLM_SELECTOR(name, selector, page, ...) inline const Message<__VA_ARGS__> name{selector};
ANLLM_SELECTORS(ANLLM_SELECTOR)
#undef ANLLM_SELECTOR

}  // namespace send

// Values of Metal's enumerations; the pages are those of the types.

/** MTLGPUFamilyApple7: the M1 and what came after. */
constexpr Integer kFamilyApple7 = 1007;
/** MTLResourceStorageModeShared, with hazard tracking as it is by default. */
constexpr UInteger kStorageShared = 0;
/** MTLLanguageVersion3_1 */
constexpr UInteger kLanguage31 = (3 << 16) + 1;
/** MTLDataTypeUInt */
constexpr UInteger kDataTypeUInt = 33;
/** MTLPipelineOptionNone, and MTLPipelineOptionFailOnBinaryArchiveMiss */
constexpr UInteger kPipelineOptionNone = 0;
constexpr UInteger kFailOnArchiveMiss = 4;
/** MTLDispatchTypeConcurrent */
constexpr UInteger kDispatchConcurrent = 1;
/** MTLBarrierScopeBuffers */
constexpr UInteger kBarrierBuffers = 1;
/** MTLCommandBufferStatusCompleted */
constexpr UInteger kStatusCompleted = 4;

}  // namespace anllm::metal::apple
